// Windows that move over the dimensions of an operand.
#pragma once

#include <cstdint>

#include "backends/cann/calls.h"

namespace shunt::cann {

/// How windows move along one dimension.
struct WindowAxis {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t dilation = 1;
};

/// x with `pad` elements of `value` on both sides of each of the first dimensions. x itself if all
/// are 0.
View pad_sides(Calls& calls, const View& x, std::span<const std::int64_t> pads, float value);

/// Dimension `dim` as two: the elements of a window, and `positions` of it. Windows overlap in
/// memory, so that this view is only read. Pads are part of x.
View windows_of(const View& x, std::size_t dim, const WindowAxis& axis, std::int64_t positions);

/// Adds up windows where they overlap. `x`: F32 [kernel, positions, ...], of at most 6 dimensions.
/// The result is [size, ...], with any strides: element i is the sum of x[k, j] over all j, k with
/// `j * stride + k * dilation - pad = i`.
View add_windows(Calls& calls, const View& x, const WindowAxis& axis, std::int64_t size);
/// The calls that add_windows() makes for the sums.
std::int64_t sums_of_windows(const WindowAxis& axis);

}  // namespace shunt::cann
