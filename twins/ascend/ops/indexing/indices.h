// Indices that are in device memory: their bounds are known only in the stream's turn.
#pragma once

#include "ascend/ops/shapes/dimensions.h"

namespace ascend_twin {

/// 161002 unless they are INT32 or INT64.
Status need_indices(const Call& call, std::size_t position);

/// All from 0 to below `limit`, or the late code of facts 10.18, to which strict mode objects.
Status read_indices(const Kernel& kernel, std::size_t position, std::int64_t limit,
                    std::vector<std::int64_t>* indices);

}  // namespace ascend_twin
