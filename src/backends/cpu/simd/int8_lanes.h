// Products of quantised weights whose rows are interleaved by 16 (backends/cpu/interleaved.h) with
// activations that are rounded to 8 bits, as int8.h: a lane of a vector is a row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/int8.h"

namespace shunt::cpu::simd {

/// Whether weights of a type can be multiplied so.
bool has_lanes(DType type);
/// Of such a type; its order is the natural one.
Int8Need lanes_need(DType type);

/// So many columns can be multiplied together, at most, while weights are in registers.
std::int64_t most_lane_columns();
/// Bytes of each block of 32 elements of `together` columns, rounded.
constexpr std::int64_t lane_block_bytes(Int8Need need, std::int64_t together) {
  return 4 * together * (8 + 1 + (need.mins == 0 ? need.scales : need.mins));
}
/// Rounds `count` columns (at most `together`) of k elements (a multiple of 32), that start
/// x_stride floats apart. With kManyColumns together this is what quantize_many() does.
void quantize_lanes(const float* x, std::int64_t x_stride, std::int64_t count,
                    std::int64_t together, std::int64_t k, Int8Need need, std::byte* to);
/// y[r + c * y_stride] = row r of w times column c, for `rows` rows (from the start of a group at
/// `w` on) of k elements, and `columns` columns (at most most_lane_columns()) that were rounded
/// together.
void multiply_lanes(DType type, const std::byte* w, std::int64_t rows, const std::byte* x,
                    std::int64_t columns, std::int64_t k, float* y, std::int64_t y_stride);
/// As decode_panel(), of one or two groups that start group_bytes apart. Rows of a group that is
/// not given are whatever they were.
void decode_lanes(DType type, const std::byte* w, std::int64_t group_bytes, std::int64_t groups,
                  std::int64_t k, std::byte* panel);

}  // namespace shunt::cpu::simd
