// Windows that move over images (ops/convolution): reading what one of them sees.
#pragma once

#include "backends/cpu/kernels/rows.h"
#include "shunt/ops/convolution.h"

namespace shunt::cpu {

/// Along one axis: which elements of an image a window at a position meets.
struct Axis {
  std::int64_t size = 1;  ///< of the image
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t dilation = 1;

  std::int64_t at(std::int64_t position, std::int64_t k) const {
    return position * stride + k * dilation - pad;
  }
  bool inside(std::int64_t i) const { return i >= 0 && i < size; }
  /// The positions, from `first` to before `last` of `count`, at which element k of the window is
  /// inside.
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  Range positions(std::int64_t k, std::int64_t count) const {
    const std::int64_t offset = k * dilation - pad;  // i = position * stride + offset
    const std::int64_t first = offset >= 0 ? 0 : ceil_div(-offset, stride);
    const std::int64_t last = offset >= size ? 0 : ceil_div(size - offset, stride);
    return {std::min(first, count), std::min(last, count)};
  }
};

/// An image's elements, F32 of any strides.
class Image {
 public:
  Image(const TensorArg& x, const Pair& kernel, const Pair& stride, const Pair& pad,
        const Pair& dilation)
      : data_(x),
        x_{x.sizes[0], kernel[0], stride[0], pad[0], dilation[0]},
        y_{x.sizes[1], kernel[1], stride[1], pad[1], dilation[1]} {}

  const Axis& x() const { return x_; }
  const Axis& y() const { return y_; }
  const std::byte* row(std::int64_t iy, std::int64_t c, std::int64_t n) const {
    return data_.row(iy, c, n);
  }
  float load(const std::byte* row, std::int64_t ix) const {
    float value = 0;
    std::memcpy(&value, row + ix * data_.strides[0], sizeof value);
    return value;
  }

  /// Elements [first, first + count) of what a window at position (i, j) of image n sees: numbered
  /// along x, then y, then channels; 0 outside.
  void read(std::int64_t i, std::int64_t j, std::int64_t n, std::int64_t first, std::int64_t count,
            float* to) const {
    std::int64_t kx = first % x_.kernel;
    std::int64_t ky = first / x_.kernel % y_.kernel;
    std::int64_t c = first / (x_.kernel * y_.kernel);
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t run = std::min(x_.kernel - kx, count - done);
      const std::int64_t iy = y_.at(j, ky);
      if (y_.inside(iy)) {
        const std::byte* from = row(iy, c, n);
        for (std::int64_t k = 0; k < run; ++k) {
          const std::int64_t ix = x_.at(i, kx + k);
          to[done + k] = x_.inside(ix) ? load(from, ix) : 0.0F;
        }
      } else {
        std::fill_n(to + done, run, 0.0F);
      }
      done += run;
      kx = 0;
      if (++ky < y_.kernel) continue;
      ky = 0;
      ++c;
    }
  }

 private:
  TensorArg data_;
  Axis x_;
  Axis y_;
};

}  // namespace shunt::cpu
