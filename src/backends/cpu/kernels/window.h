// Windows that move over images (ops/convolution): reading the elements that one of them sees.
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
  /// How many positions there are.
  std::int64_t count() const { return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1; }
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

/// An image's elements, F32, F16 or BF16 of any strides: [W, H, C, N], or [W, H, D, C * N] with
/// depth.
class Image {
 public:
  Image(const TensorArg& x, const Pair& kernel, const Pair& stride, const Pair& pad,
        const Pair& dilation)
      : data_(x),
        channel_stride_(x.strides[2]),
        image_stride_(x.strides[3]),
        axes_{Axis{x.sizes[0], kernel[0], stride[0], pad[0], dilation[0]},
              Axis{x.sizes[1], kernel[1], stride[1], pad[1], dilation[1]}, Axis{}} {}
  Image(const TensorArg& x, std::int64_t channels, const Triple& kernel, const Triple& stride,
        const Triple& pad, const Triple& dilation)
      : data_(x),
        channel_stride_(x.strides[3]),
        image_stride_(channels * x.strides[3]),
        slice_stride_(x.strides[2]) {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      axes_[i] = {x.sizes[i], kernel[i], stride[i], pad[i], dilation[i]};
    }
  }

  const Axis& x() const { return axes_[0]; }
  const Axis& y() const { return axes_[1]; }
  const Axis& z() const { return axes_[2]; }
  const std::byte* row(std::int64_t iy, std::int64_t c, std::int64_t n, std::int64_t iz = 0) const {
    return data_.data + iy * data_.strides[1] + iz * slice_stride_ + c * channel_stride_ +
           n * image_stride_;
  }
  float load(const std::byte* row, std::int64_t ix) const {
    return load_f32(data_.dtype, row + ix * data_.strides[0]);
  }

  /// Elements [first, first + count) of those that a window at a position of image n sees. They are
  /// numbered along x, then y, then z, then channels; 0 outside.
  void read(const Triple& position, std::int64_t n, std::int64_t first, std::int64_t count,
            float* to) const {
    const auto& [x, y, z] = axes_;
    std::int64_t kx = first % x.kernel;
    std::int64_t ky = first / x.kernel % y.kernel;
    std::int64_t kz = first / (x.kernel * y.kernel) % z.kernel;
    std::int64_t c = first / (x.kernel * y.kernel * z.kernel);
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t run = std::min(x.kernel - kx, count - done);
      const std::int64_t iy = y.at(position[1], ky);
      const std::int64_t iz = z.at(position[2], kz);
      if (y.inside(iy) && z.inside(iz)) {
        const std::byte* from = row(iy, c, n, iz);
        for (std::int64_t k = 0; k < run; ++k) {
          const std::int64_t ix = x.at(position[0], kx + k);
          to[done + k] = x.inside(ix) ? load(from, ix) : 0.0F;
        }
      } else {
        std::fill_n(to + done, run, 0.0F);
      }
      done += run;
      kx = 0;
      if (++ky < y.kernel) continue;
      ky = 0;
      if (++kz < z.kernel) continue;
      kz = 0;
      ++c;
    }
  }

 private:
  TensorArg data_;
  std::int64_t channel_stride_;
  std::int64_t image_stride_;
  std::int64_t slice_stride_ = 0;
  std::array<Axis, 3> axes_ = {};
};

}  // namespace shunt::cpu
