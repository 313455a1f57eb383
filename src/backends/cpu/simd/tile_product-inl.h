// The product of tiles, for any unit that has tile registers: tests have one of their own, which
// needs no machine.
#pragma once

#include "backends/cpu/simd/tiles.h"

namespace shunt::cpu::simd {

/// As TileUnit::multiply() of tiles.h. `Unit` has eight registers. It has `zero<T>()`, and
/// `load<T>(from, stride)` and `store<T>(to, stride)` of 16 rows of 64 bytes. `multiply_add<C, A,
/// B>()` computes C[i][j] += the sum over l of A[i][2 l] * B[l][2 j] + A[i][2 l + 1] * B[l][2 j +
/// 1].
template <bool TwoGroups, class Unit>
void multiply_groups(Unit& unit, const TileRows& w, const TileColumns& x, std::int64_t tiles,
                     float* y, std::int64_t y_stride, bool add) {
  // Sums are registers 0 to 3, columns 4 and 5, rows 6 and 7.
  constexpr std::int64_t kRowBytes = kTileSide * 4;
  const auto y_bytes = y_stride * static_cast<std::int64_t>(sizeof(float));
  auto* const y0 = reinterpret_cast<std::byte*>(y);
  auto* const y1 = y0 + kTileSide * y_bytes;
  if (add) {
    unit.template load<0>(y0, y_bytes);
    unit.template load<1>(y0 + kRowBytes, y_bytes);
    if constexpr (TwoGroups) {
      unit.template load<2>(y1, y_bytes);
      unit.template load<3>(y1 + kRowBytes, y_bytes);
    }
  } else {
    unit.template zero<0>();
    unit.template zero<1>();
    if constexpr (TwoGroups) {
      unit.template zero<2>();
      unit.template zero<3>();
    }
  }
  const auto add_products = [&](const std::byte* rows) {
    unit.template load<6>(rows, w.stride);
    unit.template multiply_add<0, 4, 6>();
    unit.template load<7>(rows + w.second, w.stride);
    unit.template multiply_add<1, 4, 7>();
    if constexpr (TwoGroups) {
      unit.template multiply_add<2, 5, 6>();
      unit.template multiply_add<3, 5, 7>();
    }
  };
  for (std::int64_t t = 0; t < tiles; ++t) {
    unit.template load<4>(x.first + t * kTileBytes, kRowBytes);
    if constexpr (TwoGroups) {
      unit.template load<5>(x.first + x.second + t * kTileBytes, kRowBytes);
    }
    const std::byte* rows = w.first + t * (kTileDepth / 2) * w.stride;
    add_products(rows);
    if (w.lower != 0) add_products(rows + w.lower);
  }
  unit.template store<0>(y0, y_bytes);
  unit.template store<1>(y0 + kRowBytes, y_bytes);
  if constexpr (TwoGroups) {
    unit.template store<2>(y1, y_bytes);
    unit.template store<3>(y1 + kRowBytes, y_bytes);
  }
}

template <class Unit>
void multiply_groups(Unit& unit, const TileRows& w, const TileColumns& x, std::int64_t tiles,
                     float* y, std::int64_t y_stride, bool add) {
  if (x.second != 0) {
    multiply_groups<true>(unit, w, x, tiles, y, y_stride, add);
  } else {
    multiply_groups<false>(unit, w, x, tiles, y, y_stride, add);
  }
}

}  // namespace shunt::cpu::simd
