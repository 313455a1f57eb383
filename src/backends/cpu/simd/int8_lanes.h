// Products of quantised weights whose rows are interleaved by 16 (backends/cpu/interleaved.h) with
// activations that are rounded to 8 bits, as int8.h: a lane of a vector is a row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/int8.h"
#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd {

/// Whether weights of a type can be multiplied so, at a level.
bool has_lanes(Level level, DType type);
/// Of such a type; its order is the natural one.
Int8Need lanes_need(Level level, DType type);

/// The most columns that can be multiplied together, while weights are in registers.
std::int64_t most_lane_columns(Level level);
/// y[r + c * y_stride] = row r of w times column c, for `rows` rows (from the start of a group at
/// `w` on) of k elements. The `columns` columns (at most most_lane_columns()) are stored together,
/// from quantize_columns().
void multiply_lanes(Level level, DType type, const std::byte* w, std::int64_t rows,
                    const std::byte* x, std::int64_t columns, std::int64_t k, float* y,
                    std::int64_t y_stride);
/// As decode_panel(), of one or two groups that start group_bytes apart. Rows of a group that is
/// not given have unspecified content.
void decode_lanes(Level level, DType type, const std::byte* w, std::int64_t group_bytes,
                  std::int64_t groups, std::int64_t k, std::byte* panel);

}  // namespace shunt::cpu::simd
