// Matrices of mma between the registers of a warp and plain rows. Lane 4g + t is the t-th of group
// g, and a register has e elements. All shapes but m8n8k4 of f16 (mma_quads.cpp)
// have one layout.
// Register r of A has 4e columns from column 4e (r / 2) on. Lane 4g + t has e of them in row
// g + 8 (r % 2). Matrices of 8 rows have row g only, and 4e columns from 4e r on.
// Register r of B has 4e rows from row 4e r on, and lane 4g + t has e of them in column g.
// Value c of C and D is at row g + 8 (c / 2) and column 2t + c % 2.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda/instructions/halves.h"
#include "cuda/instructions/level.h"
#include "cuda/program/op.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

inline constexpr unsigned kGroups = 8;     ///< of four lanes
inline constexpr unsigned kColumns = 8;    ///< of B, C and D
inline constexpr unsigned kMostK = 64;     ///< of all float and integer shapes
inline constexpr unsigned kMostRows = 16;  ///< of A, C and D
inline constexpr unsigned kResults = kMostRows * kColumns;
template <unsigned kCount>  ///< of elements in a register
inline constexpr std::uint32_t kMask = 0xFFFFFFFFu >> (32 - 32 / kCount);

/// A type of elements: they are `Raw` in memory, or in parts of it, and exact as a float.
struct F16Elements {
  static constexpr unsigned kCount = 2;  ///< of a register
  using Raw = std::uint16_t;
  [[gnu::always_inline]] static float value(std::uint32_t raw) {
    // half_to_float() in 32 bits throughout, which vectorizes better.
    const std::uint32_t magnitude = raw & 0x7FFFu;
    const auto scaled =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
    const std::uint32_t special = above(magnitude, 0x7BFFu) ? kFloatInfinity : 0u;
    return std::bit_cast<float>((raw & 0x8000u) << 16 | scaled | special);
  }
};
struct Bf16Elements {
  static constexpr unsigned kCount = 2;
  using Raw = std::uint16_t;
  [[gnu::always_inline]] static float value(std::uint32_t raw) {
    return std::bit_cast<float>(raw << 16);
  }
};
/// The 13 low bits of a tf32 are ignored.
struct Tf32Elements {
  static constexpr unsigned kCount = 1;
  using Raw = std::uint32_t;
  [[gnu::always_inline]] static float value(std::uint32_t raw) {
    return std::bit_cast<float>(raw & 0xFFFFE000u);
  }
};
template <unsigned kBits, bool kIsSigned>
struct IntegerElements {
  static constexpr unsigned kCount = 32 / kBits;
  using Raw = std::conditional_t<kBits == 8, std::uint8_t, std::uint32_t>;
  [[gnu::always_inline]] static float value(std::uint32_t raw) {
    const std::uint32_t high = raw << (32 - kBits);
    const std::int32_t value = kIsSigned ? static_cast<std::int32_t>(high) >> (32 - kBits)
                                         : static_cast<std::int32_t>(high >> (32 - kBits));
    return static_cast<float>(value);
  }
};
struct E4m3Elements {
  static constexpr unsigned kCount = 4;
  using Raw = std::uint8_t;
  [[gnu::always_inline]] static float value(std::uint32_t raw) {
    return e4m3_to_float(static_cast<std::uint8_t>(raw));
  }
};
struct E5m2Elements {
  static constexpr unsigned kCount = 4;
  using Raw = std::uint8_t;
  [[gnu::always_inline]] static float value(std::uint32_t raw) {
    return e5m2_to_float(static_cast<std::uint8_t>(raw));
  }
};

/// The elements of a register of all lanes, lane after lane.
template <class Elements>
[[gnu::always_inline]] inline void unpack_elements(const std::uint32_t* lanes,
                                                   float (&to)[kLanes * Elements::kCount]) {
  constexpr unsigned kCount = Elements::kCount;
  using Raw = typename Elements::Raw;
  if constexpr (std::endian::native == std::endian::little && sizeof(Raw) * kCount == 4) {
    const auto* raw = reinterpret_cast<const Raw*>(lanes);
    for (unsigned i = 0; i < kLanes * kCount; ++i) to[i] = Elements::value(raw[i]);
  } else {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned i = 0; i < kCount; ++i) {
        to[kCount * lane + i] = Elements::value(lanes[lane] >> (32 / kCount * i) & kMask<kCount>);
      }
    }
  }
}

/// One register of A: to[g * stride + e t + i].
template <class Elements>
void unpack_rows(const std::uint32_t* lanes, float* to, unsigned stride) {
  constexpr unsigned kColumnsOfRegister = 4 * Elements::kCount;
  alignas(64) float all[kLanes * Elements::kCount];
  unpack_elements<Elements>(lanes, all);
  for (unsigned g = 0; g < kGroups; ++g) {
    std::memcpy(to + std::size_t{g} * stride, all + std::size_t{g} * kColumnsOfRegister,
                kColumnsOfRegister * sizeof(float));
  }
}

/// One register of B: to[(e t + i) * 8 + g].
template <class Elements>
void unpack_columns(const std::uint32_t* lanes, float* to) {
  constexpr unsigned kRowsOfRegister = 4 * Elements::kCount;
  alignas(64) float all[kLanes * Elements::kCount];
  unpack_elements<Elements>(lanes, all);
  for (unsigned j = 0; j < kRowsOfRegister; ++j) {
    for (unsigned g = 0; g < kGroups; ++g) to[j * kColumns + g] = all[g * kRowsOfRegister + j];
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
    to[2 * lane] = F16Elements::value(pairs[lane]);
    to[2 * lane + 1] = F16Elements::value(pairs[lane] >> 16);
  }
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
