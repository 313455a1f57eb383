// The layout of a column that is rounded for few columns at once. It has units of a vector of
// bytes, or of two in the order of halves, which have the same scales. A unit has its bytes; for
// each 4 elements of a vector the scale of their block; and, for each of these, the sum (over both
// vectors) times -128. Behind all units are sums times the scale, of each 32 elements, then of each
// 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/int8.h"

namespace shunt::cpu::simd {

struct FewColumn {
  /// Elements are padded with zeros to whole groups of any type.
  static constexpr std::size_t kPadding = 256;

  constexpr FewColumn(std::size_t elements, std::size_t vector_bytes)
      : k((elements + kPadding - 1) / kPadding * kPadding), vector(vector_bytes) {}
  std::size_t k = 0;
  std::size_t vector = 0;

  static constexpr std::size_t vectors_of_unit(CodeOrder order) {
    return order == CodeOrder::kHalves ? 2 : 1;
  }
  constexpr std::size_t unit_bytes(CodeOrder order) const {
    return (vectors_of_unit(order) + 2) * vector;
  }
  constexpr std::size_t scales_at(CodeOrder order) const { return vectors_of_unit(order) * vector; }
  constexpr std::size_t start_at(CodeOrder order) const { return scales_at(order) + vector; }
  /// Where sums over `run` elements (32 or 16) start: behind the units of any order.
  constexpr std::size_t sums_at(std::size_t run) const {
    return 3 * k + (run == 32 ? 0 : k / 32 * sizeof(float));
  }
  /// A multiple of 64, so that the next column is aligned, too.
  constexpr std::size_t bytes() const {
    return 3 * k + (k / 32 * 3 * sizeof(float) + 63) / 64 * 64;
  }
};

}  // namespace shunt::cpu::simd
