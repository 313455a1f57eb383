// Windows that move over images (shunt/ops/convolution.h), and the images. The host and the kernels
// include this header. Axes are x, y and z; without depth an image has one slice.
#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct Window {
  i64 kernel[3], stride[3], pad[3], dilation[3];
  /// The element of the image that element k of a window meets; perhaps outside.
  constexpr i64 at(int axis, i64 position, i64 k) const {
    return position * stride[axis] + k * dilation[axis] - pad[axis];
  }
};

/// The positions along an axis over an image of a size.
constexpr i64 count_positions(const Window& window, int axis, i64 size) {
  return (window.pad[axis] - window.at(axis, 0, window.kernel[axis] - 1) + size - 1) /
             window.stride[axis] +
         1;
}

/// Strides in bytes.
struct Images {
  Pointer<u8> data;
  i64 size[3], stride[3];
  i64 channel_stride, image_stride;
};

/// Kernels of convolutions, of the sizes that the window has.
struct Filters {
  Pointer<u8> data;
  i64 stride[3];
  i64 channel_stride, output_stride;
};

/// Elements [first, last) of a window.
struct WindowRange {
  i64 first, last;
};
/// Those that are inside of an image of a size.
constexpr WindowRange inside_of(const Window& window, int axis, i64 position, i64 size) {
  const i64 at = window.at(axis, position, 0), step = window.dilation[axis];
  const i64 first = at < 0 ? (step - 1 - at) / step : 0;
  const i64 last = at < size ? (size - at + step - 1) / step : 0;
  return {first, last < window.kernel[axis] ? last : window.kernel[axis]};
}

/// The position, below `count`, of the window whose element k meets an element of the image; -1 if
/// there is none.
constexpr i64 position_of(const Window& window, int axis, i64 element, i64 k, i64 count) {
  const i64 from = element + window.pad[axis] - k * window.dilation[axis];
  if (from < 0) return -1;
  const i64 position = from / window.stride[axis];
  return position < count && position * window.stride[axis] == from ? position : -1;
}

}  // namespace shunt::cuda::gpu
