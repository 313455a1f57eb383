// Windows and images of a node as kernels take them.
#pragma once

#include "backends/cuda/gpu/window.h"
#include "shunt/ops/convolution.h"

namespace shunt::cuda {

/// Axes that the ops do not have, have one position and a window of one element.
template <std::size_t N>
gpu::Window gpu_window(const std::array<std::int64_t, N>& kernel,
                       const std::array<std::int64_t, N>& stride,
                       const std::array<std::int64_t, N>& pad,
                       const std::array<std::int64_t, N>& dilation) {
  gpu::Window window = {{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}};
  for (std::size_t axis = 0; axis < N; ++axis) {
    window.kernel[axis] = kernel[axis];
    window.stride[axis] = stride[axis];
    window.pad[axis] = pad[axis];
    window.dilation[axis] = dilation[axis];
  }
  return window;
}

/// [W, H, C, N].
inline gpu::Images flat_images(const gpu::TensorArg& x) {
  return {x.data,
          {x.sizes[0].fixed, x.sizes[1].fixed, 1},
          {x.strides[0], x.strides[1], 0},
          x.strides[2],
          x.strides[3]};
}
/// [W, H, D, C * N].
inline gpu::Images deep_images(const gpu::TensorArg& x, std::int64_t channels) {
  return {x.data,
          {x.sizes[0].fixed, x.sizes[1].fixed, x.sizes[2].fixed},
          {x.strides[0], x.strides[1], x.strides[2]},
          x.strides[3],
          channels * x.strides[3]};
}

/// A tensor whose last dimension is 1, with a dimension of 1 before dimension `dim`.
inline gpu::TensorArg with_unit_dim(const gpu::TensorArg& x, std::size_t dim) {
  gpu::TensorArg wide = x;
  for (std::size_t d = kMaxDims - 1; d > dim; --d) {
    wide.sizes[d] = x.sizes[d - 1];
    wide.strides[d] = x.strides[d - 1];
  }
  wide.sizes[dim] = {1, 0, 0};
  wide.strides[dim] = 0;
  return wide;
}

}  // namespace shunt::cuda
