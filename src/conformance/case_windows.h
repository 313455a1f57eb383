// Images and windows for the cases of convolutions and pooling.
#pragma once

#include <functional>

#include "conformance/case.h"
#include "ops/convolution/window.h"

namespace shunt {

/// Calls `sink` with images of a type and windows that every device must support.
using WindowSink = std::function<void(const CaseSource& x, const Window& window)>;
void window_cases(const WindowSink& sink, DType type = DType::kF32);
/// The same with three axes. The outermost dimension of x holds `channels` for each image.
using Window3dSink =
    std::function<void(const CaseSource& x, std::int64_t channels, const WindowOf<3>& window)>;
void window_3d_cases(const Window3dSink& sink, DType type = DType::kF32);

}  // namespace shunt
