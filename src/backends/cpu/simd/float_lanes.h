// Products of weights in F32, F16 or BF16 whose rows are interleaved by 16
// (backends/cpu/interleaved.h): a lane of a vector is a row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/float_many.h"
#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd {

/// Whether weights of a type can be multiplied so.
bool has_float_lanes(Level level, DType type);

/// y[r + c * y_stride] = row r of w times column c, in F32, for `rows` rows (from the start of a
/// group at `w` on) of k elements. Column c starts at x + c * x_stride. Rows are read again for
/// each most_lane_columns() columns (int8_lanes.h), if there are more.
void multiply_float_lanes(Level level, DType type, const std::byte* w, std::int64_t rows,
                          const float* x, std::int64_t x_stride, std::int64_t columns,
                          std::int64_t k, float* y, std::int64_t y_stride);
/// As pack_rows() of float_many.h, of one or two groups that start group_bytes apart. Rows of a
/// group that is not given have unspecified content.
void pack_lanes(Level level, DType type, const std::byte* w, std::int64_t group_bytes,
                std::int64_t groups, std::int64_t k, std::byte* panel);

}  // namespace shunt::cpu::simd
