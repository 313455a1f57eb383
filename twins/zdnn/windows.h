// Windows that move over height and width, for pooling and convolution.
#pragma once

#include "op.h"

namespace zdnn_twin {

/// One direction. A stride of 0 is one window over everything.
struct Axis {
  std::uint32_t input, kernel, stride;
  bool same;  // padded, so that there are ceil(input / stride) windows

  std::uint32_t outputs() const {
    if (stride == 0) return 1;
    if (same) return static_cast<std::uint32_t>(ceil_div(input, stride));
    return input < kernel ? 0 : (input - kernel) / stride + 1;
  }
  /// Cells of padding in front: half of the missing cells, rounded down.
  std::int64_t padding() const {
    if (!same || stride == 0) return 0;
    const std::int64_t covered = std::int64_t{outputs() - 1} * stride + kernel;
    return covered > input ? (covered - input) / 2 : 0;
  }
};

struct Windows {
  Axis down, across;

  zdnn_status check(zdnn_pool_padding padding) const {
    const bool whole = down.stride == 0;
    ZDNN_TWIN_TRY(expect(whole == (across.stride == 0), ZDNN_INVALID_STRIDES,
                         "one stride is 0, the other isn't"));
    ZDNN_TWIN_TRY(expect(!whole || padding == VALID_PADDING, ZDNN_INVALID_STRIDE_PADDING,
                         "strides of 0 go with valid padding"));
    const bool covers = down.kernel == down.input && across.kernel == across.input;
    ZDNN_TWIN_TRY(expect(!whole || covers, ZDNN_INVALID_SHAPE,
                         "with strides of 0 the kernel covers the input"));
    const bool sized = down.kernel != 0 && across.kernel != 0;
    return expect(sized && (padding != VALID_PADDING ||
                            (down.kernel <= down.input && across.kernel <= across.input)),
                  ZDNN_INVALID_SHAPE, "the kernel is empty, or larger than the input");
  }

  /// Calls f(y, x, ky, kx) for each cell of the input in one window.
  template <class F>
  void visit(std::uint64_t window_y, std::uint64_t window_x, F f) const {
    const std::int64_t top = static_cast<std::int64_t>(window_y * down.stride) - down.padding();
    const std::int64_t left =
        static_cast<std::int64_t>(window_x * across.stride) - across.padding();
    for (std::uint32_t ky = 0; ky < down.kernel; ++ky) {
      const std::int64_t y = top + ky;
      if (y < 0 || y >= down.input) continue;
      for (std::uint32_t kx = 0; kx < across.kernel; ++kx) {
        const std::int64_t x = left + kx;
        if (x < 0 || x >= across.input) continue;
        f(static_cast<std::uint64_t>(y), static_cast<std::uint64_t>(x), ky, kx);
      }
    }
  }
};

}  // namespace zdnn_twin
