// Gated units of rows of F32. y may be one of the sources (the same start), else rows don't
// overlap.
#pragma once

#include <cstdint>

#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd {

/// y = max(gate, 0) * up.
void reglu(Level level, const float* gate, const float* up, float* y, std::int64_t n);
/// y = gelu(gate) * up, in its form with tanh.
void geglu(Level level, const float* gate, const float* up, float* y, std::int64_t n);
/// y = gate / (1 + exp(-1.702 gate)) * up.
void geglu_quick(Level level, const float* gate, const float* up, float* y, std::int64_t n);
/// y = silu(gate) * up.
void swiglu(Level level, const float* gate, const float* up, float* y, std::int64_t n);
/// y = c / (1 + exp(-alpha c)) * (u + 1), c = min(gate, limit), u = min(max(up, -limit), limit).
void swiglu_oai(Level level, const float* gate, const float* up, float alpha, float limit, float* y,
                std::int64_t n);

}  // namespace shunt::cpu::simd
