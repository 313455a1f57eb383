// Floating-point operands, as a comparison reads them: with or without subnormals.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/instructions/halves.h"
#include "cuda/instructions/level.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// With `ftz`, a subnormal number is a zero of its sign.
template <bool ftz>
struct ReadFloat {
  using Lane = std::uint32_t;
  [[gnu::always_inline]] static float read(std::uint32_t lane) {
    if (ftz && (lane & kFloatInfinity) == 0) lane &= kFloatSign;
    return std::bit_cast<float>(lane);
  }
};

struct ReadDouble {
  using Lane = std::uint64_t;
  [[gnu::always_inline]] static double read(std::uint64_t lane) {
    return std::bit_cast<double>(lane);
  }
};

/// The half of a register that begins at bit `shift`.
template <bool ftz, unsigned shift>
struct ReadHalf {
  using Lane = std::uint32_t;
  [[gnu::always_inline]] static float read(std::uint32_t lane) {
    std::uint32_t half = lane >> shift & 0xFFFFu;
    if (ftz && (half & 0x7C00u) == 0) half &= 0x8000u;
    return half_to_float(static_cast<std::uint16_t>(half));
  }
};
template <unsigned shift>
struct ReadBf16 {
  using Lane = std::uint32_t;
  [[gnu::always_inline]] static float read(std::uint32_t lane) {
    return bf16_to_float(static_cast<std::uint16_t>(lane >> shift));
  }
};

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
