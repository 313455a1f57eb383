// Rows of F32, element by element or summed up. y may be one of the sources (the same start), else
// rows do not overlap. n may be 0. Sums are taken in a fixed order that depends on n and on the
// level (level.h) only. The placement of the elements of a row never changes that order.
#pragma once

#include <cstdint>

#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd {

/// y = a + b.
void add(Level level, const float* a, const float* b, float* y, std::int64_t n);
void add(Level level, const float* a, float b, float* y, std::int64_t n);
/// y = a - b.
void sub(Level level, const float* a, const float* b, float* y, std::int64_t n);
void sub(Level level, const float* a, float b, float* y, std::int64_t n);
/// y = a * b.
void mul(Level level, const float* a, const float* b, float* y, std::int64_t n);
void mul(Level level, const float* a, float b, float* y, std::int64_t n);
/// y = a / b.
void div(Level level, const float* a, const float* b, float* y, std::int64_t n);
void div(Level level, const float* a, float b, float* y, std::int64_t n);
/// y = x * scale + bias.
void scale(Level level, const float* x, float scale, float bias, float* y, std::int64_t n);
/// y = x * scale + addend.
void scale_add(Level level, const float* x, float scale, const float* addend, float* y,
               std::int64_t n);

/// y = 1 / (1 + exp(-x)), also where exp(-x) is infinite or the result subnormal.
void sigmoid(Level level, const float* x, float* y, std::int64_t n);
/// y = x / (1 + exp(-x)), also where exp(-x) is infinite or the result subnormal.
void silu(Level level, const float* x, float* y, std::int64_t n);
/// y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
void gelu(Level level, const float* x, float* y, std::int64_t n);
/// y = x / (1 + exp(-1.702 x)).
void gelu_quick(Level level, const float* x, float* y, std::int64_t n);
/// y = exp(x), within 2 units in the last place; subnormal results are not flushed.
void exp(Level level, const float* x, float* y, std::int64_t n);
/// y = exp(x - shift); returns the sum of all y. An x of minus infinity gives exactly 0.
float exp_shifted(Level level, const float* x, float shift, float* y, std::int64_t n);

float dot(Level level, const float* a, const float* b, std::int64_t n);
float sum(Level level, const float* x, std::int64_t n);
float sum_squares(Level level, const float* x, std::int64_t n);
/// The largest; not-a-number if any element is; minus infinity if there are none.
float max(Level level, const float* x, std::int64_t n);
/// The first index of `value`, or n.
std::int64_t find(Level level, const float* x, float value, std::int64_t n);

/// Turns pairs (u[i], v[i]) by angles of these cosines and sines: (u c - v s, u s + v c). yu may be
/// u, and yv v.
void rotate(Level level, const float* u, const float* v, const float* cosines, const float* sines,
            float* yu, float* yv, std::int64_t n);
/// The same for n pairs (x[2i], x[2i + 1]). y may be x.
void rotate_adjacent(Level level, const float* x, const float* cosines, const float* sines,
                     float* y, std::int64_t n);

}  // namespace shunt::cpu::simd
