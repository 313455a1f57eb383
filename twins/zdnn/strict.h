// The checks of strict mode on the tensors of an operation.
#pragma once

#include "include/zdnn.h"

namespace zdnn_twin {

/// After the library wrote the tensor's buffer.
void written(const zdnn_ztensor& tensor);

/// Objects to an input that is not transformed, or whose buffer is not as the library left it.
/// `marked`: whether its is_transformed is expected to be set.
zdnn_status check_input(const zdnn_ztensor& tensor, bool marked = true);

/// Objects to an output that shares memory with an input.
zdnn_status check_overlap(const zdnn_ztensor& input, const zdnn_ztensor& output);

}  // namespace zdnn_twin
