// Matrices of mma between the registers of a warp and plain rows. Lane 4g + t is t-th in group g.
// With e elements to a register, all shapes but m8n8k4 of f16 have one layout:
//   register r of A: row g + 8 (r % 2), columns 4e (r / 2) + e t ..., of 16 rows; of 8 rows: row g,
//   columns 4e r + e t ...
//   register r of B: column g, rows 4e r + e t ...
//   value c of C and D: row g + 8 (c / 2), column 2t + c % 2
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/instructions/halves.h"
#include "cuda/instructions/level.h"
#include "cuda/program/op.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

inline constexpr unsigned kGroups = 8;     ///< of four lanes
inline constexpr unsigned kColumns = 8;    ///< of B, C and D
inline constexpr unsigned kMostK = 64;     ///< of all float and integer shapes
inline constexpr unsigned kMostRows = 16;  ///< of A, C and D
inline constexpr unsigned kResults = kMostRows * kColumns;

/// Element `i` of a register as a float. All of these are exact.
struct F16Elements {
  static constexpr unsigned kCount = 2;
  [[gnu::always_inline]] static float at(std::uint32_t bits, unsigned i) {
    return half_to_float(static_cast<std::uint16_t>(bits >> (16 * i)));
  }
};
struct Bf16Elements {
  static constexpr unsigned kCount = 2;
  [[gnu::always_inline]] static float at(std::uint32_t bits, unsigned i) {
    return std::bit_cast<float>(bits >> (16 * i) << 16);
  }
};
/// The 13 low bits of a tf32 are ignored.
struct Tf32Elements {
  static constexpr unsigned kCount = 1;
  [[gnu::always_inline]] static float at(std::uint32_t bits, unsigned) {
    return std::bit_cast<float>(bits & 0xFFFFE000u);
  }
};
template <unsigned kBits, bool kIsSigned>
struct IntegerElements {
  static constexpr unsigned kCount = 32 / kBits;
  [[gnu::always_inline]] static float at(std::uint32_t bits, unsigned i) {
    const std::uint32_t high = bits << (32 - kBits - kBits * i);
    const std::int32_t value = kIsSigned ? static_cast<std::int32_t>(high) >> (32 - kBits)
                                         : static_cast<std::int32_t>(high >> (32 - kBits));
    return static_cast<float>(value);
  }
};
struct E4m3Elements {
  static constexpr unsigned kCount = 4;
  [[gnu::always_inline]] static float at(std::uint32_t bits, unsigned i) {
    return e4m3_to_float(static_cast<std::uint8_t>(bits >> (8 * i)));
  }
};
struct E5m2Elements {
  static constexpr unsigned kCount = 4;
  [[gnu::always_inline]] static float at(std::uint32_t bits, unsigned i) {
    return e5m2_to_float(static_cast<std::uint8_t>(bits >> (8 * i)));
  }
};

/// One register of A or of the transpose of B: to[g * stride + e t + i].
template <class Elements>
void unpack_rows(const std::uint32_t* lanes, float* to, unsigned stride) {
  constexpr unsigned kCount = Elements::kCount;
  for (unsigned g = 0; g < kGroups; ++g) {
    float* row = to + static_cast<std::size_t>(g) * stride;
    for (unsigned j = 0; j < 4 * kCount; ++j) {
      row[j] = Elements::at(lanes[4 * g + j / kCount], j % kCount);
    }
  }
}

/// One register of B: to[(e t + i) * 8 + g].
template <class Elements>
void unpack_columns(const std::uint32_t* lanes, float* to) {
  constexpr unsigned kCount = Elements::kCount;
  for (unsigned t = 0; t < 4; ++t) {
    std::uint32_t column[kGroups];
    for (unsigned g = 0; g < kGroups; ++g) column[g] = lanes[4 * g + t];
    for (unsigned i = 0; i < kCount; ++i) {
      float* row = to + static_cast<std::size_t>(kCount * t + i) * kColumns;
      for (unsigned g = 0; g < kGroups; ++g) row[g] = Elements::at(column[g], i);
    }
  }
}

/// Two registers of C with values of 32 bits: eight rows.
template <class T>
[[gnu::always_inline]] inline void unpack_results(const T* even, const T* odd, T* to) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    to[2 * lane] = even[lane];
    to[2 * lane + 1] = odd[lane];
  }
}
/// One register of C with two f16: eight rows.
[[gnu::always_inline]] inline void unpack_results(const std::uint32_t* pairs, float* to) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    to[2 * lane] = F16Elements::at(pairs[lane], 0);
    to[2 * lane + 1] = F16Elements::at(pairs[lane], 1);
  }
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
