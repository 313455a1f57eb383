// Gradients and optimiser steps over rows of F32. n may be 0.
#pragma once

#include <cstdint>

#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd {

/// dx = dy * s * (1 + x * (1 - s)), s = 1 / (1 + exp(-x)), also where exp(-x) is infinite. dx may
/// be dy or x.
void silu_back(Level level, const float* dy, const float* x, float* dx, std::int64_t n);

struct AdamStep {
  float keep = 1;     ///< of the weights
  float rate = 0;     ///< divided by the bias of m
  float v_scale = 1;  ///< 1 / bias of v
  float eps = 0;
};
/// w = keep * w - rate * m / (sqrt(v_scale * v) + eps).
void adam_step(Level level, const AdamStep& step, const float* m, const float* v, float* w,
               std::int64_t n);

}  // namespace shunt::cpu::simd
