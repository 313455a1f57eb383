// What ops share whose windows move over images.
#pragma once

#include "graph/op.h"
#include "ops/convolution/convolution.h"

namespace shunt {

/// How a window moves. Each element is checked by expect_window().
struct Window {
  Pair kernel = {1, 1};
  Pair stride = {1, 1};
  Pair pad = {0, 0};
  Pair dilation = {1, 1};

  /// The element of the image that element `k` of a window at `position` meets; perhaps outside.
  std::int64_t at(std::size_t axis, std::int64_t position, std::int64_t k) const {
    return position * stride[axis] + k * dilation[axis] - pad[axis];
  }
};

/// Checks the window and the image, F32 [W, H, C, N]; how many positions there are along x and y.
Result<Pair> positions(const Window& window, const Tensor& x);

/// x at (ix, iy), 0 outside.
double padded(const RefTensor& x, std::int64_t ix, std::int64_t iy, std::int64_t c, std::int64_t n);

/// Images and windows that everybody must cope with: calls f(x, window).
using WindowSink = std::function<void(const CaseSource& x, const Window& window)>;
void window_cases(const WindowSink& sink);

}  // namespace shunt
