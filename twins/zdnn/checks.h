// The requirements on tensors before any access to them.
#pragma once

#include "include/zdnn.h"

namespace zdnn_twin {

/// A transformed descriptor that the library takes: a known combination of format, layout and type,
/// dimensions and size within the machine's limits.
zdnn_status check_transformed(const zdnn_tensor_desc* desc);

/// That, and its host descriptor belongs to it.
zdnn_status check_descriptors(const zdnn_ztensor* tensor);

/// The buffer exists, starts at a multiple of 4 KiB and is large enough.
zdnn_status check_buffer(const zdnn_ztensor& tensor);

bool is_page_aligned(const void* address);

}  // namespace zdnn_twin
