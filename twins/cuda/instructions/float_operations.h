// Sums and products of f32 and f64, in all roundings.
#pragma once

#include <cmath>

#include "cuda/instructions/directed.h"
#include "cuda/instructions/float_forms.h"
#include "cuda/instructions/wide_sums.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

// Each operation has `nearest`, and `directed` for finite and infinite operands.
struct FloatAdd {
  static constexpr unsigned kInputs = 2;
  template <class T>
  [[gnu::always_inline]] static T nearest(T a, T b, T) {
    return a + b;
  }
  template <class T>
  static T directed(T a, T b, T, Rounding rounding) {
    return fma_rounded(a, T{1}, b, rounding);
  }
};
struct FloatSub {
  static constexpr unsigned kInputs = 2;
  template <class T>
  [[gnu::always_inline]] static T nearest(T a, T b, T) {
    return a - b;
  }
  template <class T>
  static T directed(T a, T b, T, Rounding rounding) {
    return fma_rounded(a, T{1}, -b, rounding);
  }
};
struct FloatMul {
  static constexpr unsigned kInputs = 2;
  template <class T>
  [[gnu::always_inline]] static T nearest(T a, T b, T) {
    return a * b;
  }
  template <class T>
  static T directed(T a, T b, T, Rounding rounding) {
    const T zero = std::signbit(a) != std::signbit(b) ? -T{0} : T{0};
    return fma_rounded(a, b, zero, rounding);
  }
};
struct FloatFma {
  static constexpr unsigned kInputs = 3;
  [[gnu::always_inline]] static float nearest(float a, float b, float c) {
    return fma_nearest(a, b, c);
  }
  [[gnu::always_inline]] static double nearest(double a, double b, double c) {
    return __builtin_fma(a, b, c);
  }
  template <class T>
  static T directed(T a, T b, T c, Rounding rounding) {
    return fma_rounded(a, b, c, rounding);
  }
};
// Op::extra of an op that computes lane by lane.
inline constexpr std::uint32_t kRoundingBits = 3;
inline constexpr std::uint32_t kFtzBit = 4;
inline constexpr std::uint32_t kSatBit = 8;

template <class Operation>
float directed_single(float a, float b, float c, std::uint32_t flags) {
  if ((flags & kFtzBit) != 0) {
    a = flushed(a);
    b = flushed(b);
    c = flushed(c);
  }
  const auto rounding = static_cast<Rounding>(flags & kRoundingBits);
  const bool nan = a != a || b != b || c != c;
  float value = nan ? float_of(kFloatNan) : Operation::directed(a, b, c, rounding);
  if ((flags & kFtzBit) != 0) value = flushed(value);
  return (flags & kSatBit) != 0 ? saturated(value) : canonical(value);
}

inline std::uint32_t float_flags(const FloatForm& form) {
  const auto rounding = static_cast<std::uint32_t>(form.rounding.value_or(Rounding::kNearest));
  return rounding | (form.ftz ? kFtzBit : 0) | (form.sat ? kSatBit : 0);
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
