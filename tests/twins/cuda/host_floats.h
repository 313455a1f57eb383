// Arithmetic of f32 and f64 on the host, in its rounding modes.
#pragma once

#include "floats.h"

namespace twin_test {

template <class Bits>
struct Host;  // of the bits
template <>
struct Host<std::uint32_t> {
  using Float = float;
  static constexpr Format kFormat = kF32;
  static constexpr const char* kName = "f32";
};
template <>
struct Host<std::uint64_t> {
  using Float = double;
  static constexpr Format kFormat = kF64;
  static constexpr const char* kName = "f64";
};

/// f32 results have one NaN; f64 ones the first operand's, quiet, or the default.
template <class Bits, class... In>
Bits with_nan(typename Host<Bits>::Float result, In... operands) {
  if (!std::isnan(result)) return std::bit_cast<Bits>(result);
  if constexpr (sizeof(Bits) == 4) {
    return 0x7FFFFFFFu;
  } else {
    Bits nan = 0;
    ((nan = nan == 0 && is_nan(operands, kF64) ? operands | 0x0008000000000000u : nan), ...);
    return nan != 0 ? nan : 0xFFF8000000000000u;
  }
}

template <class Bits, class Operation, class... In>
Bits on_host(int mode, Operation operation, In... operands) {
  using Float = typename Host<Bits>::Float;
  volatile Float result = 0;
  {
    const HostRounding rounding(mode);
    result = operation(std::bit_cast<Float>(operands)...);
  }
  return with_nan<Bits>(result, operands...);
}

// The operations, with volatile between operands and result so that none is moved.
template <class T>
T sum_of(T a, T b) {
  volatile T x = a;
  volatile T y = b;
  return x + y;
}
template <class T>
T difference_of(T a, T b) {
  volatile T x = a;
  volatile T y = b;
  return x - y;
}
template <class T>
T product_of(T a, T b) {
  volatile T x = a;
  volatile T y = b;
  return x * y;
}
template <class T>
T quotient_of(T a, T b) {
  volatile T x = a;
  volatile T y = b;
  return x / y;
}
template <class T>
T fma_of(T a, T b, T c) {
  volatile T x = a;
  volatile T y = b;
  volatile T z = c;
  return std::fma(x, y, z);
}
template <class T>
T root_of(T a) {
  volatile T x = a;
  return std::sqrt(x);
}

template <class Bits>
std::pair<std::vector<Bits>, std::vector<Bits>> float_pairs() {
  const auto edges = float_edges<Bits>(Host<Bits>::kFormat, 12);
  return crossed(edges, edges);
}

inline std::uint32_t flushed(std::uint32_t bits) {
  return static_cast<std::uint32_t>(flush(bits, kF32));
}

inline std::uint32_t saturated(std::uint32_t bits) {
  if (is_nan(bits, kF32) || (bits & 0x80000000u) != 0) return 0;
  return bits > 0x3F800000u ? 0x3F800000u : bits;
}

}  // namespace twin_test
