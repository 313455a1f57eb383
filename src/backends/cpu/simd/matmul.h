// Products of weight rows with columns of F32, from which matmul and attention are made. The order
// of every sum depends only on k (and the level, see level.h), not on how many rows or columns come
// at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/level.h"
#include "shunt/tensor.h"

namespace shunt::cpu::simd {

/// For few columns, where reading the weights takes the time: they are decoded in registers.
/// Computes y[r + c * y_stride] = sum over k of w[r][k] * x[c][k] for `rows` rows and `columns`
/// columns. (Only F32, F16, BF16, Q8_0 and Q4_0 are decoded so; rows of other types are decoded a
/// piece at a time.) Row r of w starts at w + r * w_stride bytes; column c of x at x + c *
/// x_stride. At most kDotColumns columns are taken through a row at once; more are fine.
void dot_rows(Level level, DType type, const std::byte* w, std::int64_t w_stride, std::int64_t rows,
              const float* x, std::int64_t x_stride, std::int64_t columns, std::int64_t k, float* y,
              std::int64_t y_stride);
inline constexpr std::int64_t kDotColumns = 4;

/// Panels are padded with zeros to multiples of these numbers: elements of k, and rows of w.
inline constexpr std::int64_t kPanelDepth = 16;
inline constexpr std::int64_t kPanelRows = 4;

/// For many columns, where arithmetic takes the time. Computes y[r + c * y_stride] = (or +=, if
/// `add`) the sum over k of w[r * w_stride + k] * x[c * x_stride + k]. The sum's length `k` is a
/// multiple of kPanelDepth; w has readable rows up to a multiple of kPanelRows.
void multiply_panel(Level level, const float* w, std::int64_t w_stride, std::int64_t rows,
                    const float* x, std::int64_t x_stride, std::int64_t columns, std::int64_t k,
                    float* y, std::int64_t y_stride, bool add);

}  // namespace shunt::cpu::simd
