// Shared parts of ops whose windows move over images.
#pragma once

#include "graph/op.h"
#include "ops/convolution/convolution.h"

namespace shunt {

/// A number for each of N axes.
template <std::size_t N>
using PerAxis = std::array<std::int64_t, N>;

template <std::size_t N>
constexpr PerAxis<N> all_axes(std::int64_t value) {
  PerAxis<N> all = {};
  for (std::int64_t& each : all) each = value;
  return all;
}

/// How a window moves along N axes. Its elements are checked by positions() and covered().
template <std::size_t N>
struct WindowOf {
  PerAxis<N> kernel = all_axes<N>(1);
  PerAxis<N> stride = all_axes<N>(1);
  PerAxis<N> pad = all_axes<N>(0);
  PerAxis<N> dilation = all_axes<N>(1);

  /// The element of the image that element `k` of a window at `position` meets; perhaps outside.
  std::int64_t at(std::size_t axis, std::int64_t position, std::int64_t k) const {
    return position * stride[axis] + k * dilation[axis] - pad[axis];
  }
};
using Window = WindowOf<2>;

/// Checks the window and the image, F32, F16 or BF16, whose first N dimensions are its axes and
/// fixed; how many positions there are along each.
template <std::size_t N>
Result<PerAxis<N>> positions(const WindowOf<N>& window, const Tensor& x);

/// Checks the window and that there are positions, the sizes of x from dimension `first` on; the
/// sizes of the image that windows there cover, without pad.
template <std::size_t N>
Result<PerAxis<N>> covered(const WindowOf<N>& window, const Tensor& x, std::size_t first = 0);

/// Kernels: F32, F16 or BF16, of fixed sizes.
Status expect_kernels(const Tensor& w);
/// F32, F16 or BF16.
Status expect_float_type(std::string_view name, DType type);

/// How many groups of `channels` dimension `dim` of a tensor has; Invalid if they are not whole.
Result<Dim> groups(std::string_view name, const Tensor& tensor, int dim, std::int64_t channels);
/// A dimension `n` times as large.
Result<Dim> checked_times(const Dim& dim, std::int64_t n);

/// x at an index, 0 outside.
double padded(const RefTensor& x, std::int64_t i0, std::int64_t i1, std::int64_t i2,
              std::int64_t i3);

}  // namespace shunt
