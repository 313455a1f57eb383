// Windows that slide over the last dimensions of a tensor.
#pragma once

#include "ascend/ops/shapes/dimensions.h"

namespace ascend_twin {

/// One spatial dimension.
struct Window {
  std::int64_t kernel = 1, stride = 1, before = 0, after = 0, dilation = 1;
};

/// Windows on an extent; `rounds_up` counts one that begins on it and ends beyond. Negative where
/// the kernel does not fit.
std::int64_t windows_on(const Window& window, std::int64_t extent, bool rounds_up = false);

/// The value of an array for a spatial dimension: one for all, or one each.
std::int64_t value_for(const std::vector<std::int64_t>& values, std::size_t dimension);

/// 161002 unless the format is ND or that of the rank.
Status need_spatial_format(const Call& call, std::size_t position);

}  // namespace ascend_twin
