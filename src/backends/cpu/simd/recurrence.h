// One row of a recurrence's state, as a token changes it and reads from it. Rows don't overlap. n
// may be 0. Sums are taken in a fixed order that depends only on n and on the level (level.h).
#pragma once

#include <cstdint>

#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd {

/// y = the sum of a[k] * b[k] over `count` pairs of rows, at least 1, in their order.
void sum_of_products(Level level, const float* const* a, const float* const* b, std::int64_t count,
                     float* y, std::int64_t n);

/// state = keep * state + add * factor; returns the sum of read * state.
float update_and_read(Level level, float* state, const float* keep, const float* add, float factor,
                      const float* read, std::int64_t n);
/// The same with one number that keeps.
float update_and_read(Level level, float* state, float keep, const float* add, float factor,
                      const float* read, std::int64_t n);
/// state = keep * state + add * factor + add2 * factor2; returns the sum of read * state.
float update_and_read(Level level, float* state, const float* keep, const float* add, float factor,
                      const float* add2, float factor2, const float* read, std::int64_t n);

/// The read and the update of one row of a state, where the row has an element for each output.
struct RowUpdate {
  float read = 0;       ///< of the row, for the output
  float read_keep = 0;  ///< how much of the row's element is read,
  float read_add = 0;   ///< and how much of the added value
  float keep = 0;
  float add = 0;
};
/// y = y + read * (read_keep * state + read_add * v), then state = keep * state + add * v.
void read_and_update(Level level, float* state, const RowUpdate& update, const float* v, float* y,
                     std::int64_t n);

}  // namespace shunt::cpu::simd
