// Types, operands and roundings for tests of cvt.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "floats.h"

namespace twin_test {

using Real = long double;

struct IntegerType {
  const char* name;
  unsigned bits;
  bool is_signed;
  Big least() const { return is_signed ? -(Big{1} << (bits - 1)) : Big{0}; }
  Big most() const { return (Big{1} << (is_signed ? bits - 1 : bits)) - 1; }
  bool holds(const IntegerType& other) const {
    return least() <= other.least() && most() >= other.most();
  }
};
inline constexpr IntegerType kIntegers[] = {
    {"u8", 8, false},   {"s8", 8, true},   {"u16", 16, false}, {"s16", 16, true},
    {"u32", 32, false}, {"s32", 32, true}, {"u64", 64, false}, {"s64", 64, true}};

/// The low bits of a register as a value of the type.
inline Big value_of(std::uint64_t bits, const IntegerType& type) {
  Big value = bits & static_cast<std::uint64_t>(
                         type.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << type.bits) - 1);
  if (type.is_signed && value > type.most()) value -= Big{1} << type.bits;
  return value;
}

inline std::vector<std::uint64_t> integer_inputs() {
  std::vector<std::uint64_t> values;
  for (unsigned shift = 0; shift < 64; ++shift) {
    for (const int step : {-2, -1, 0, 1, 2}) {
      const std::uint64_t near = (std::uint64_t{1} << shift) + static_cast<std::uint64_t>(step);
      values.push_back(near);
      values.push_back(~near + 1);
    }
  }
  RandomNumbers numbers(11);
  for (int i = 0; i < 500; ++i) values.push_back(numbers.next() >> (numbers.next() % 64));
  return values;
}

struct FloatType {
  const char* name;
  Format format;
};
inline constexpr FloatType kFloats[] = {
    {"f16", kF16}, {"bf16", kBf16}, {"f32", kF32}, {"f64", kF64}};

/// Half integers, borders of types and random values.
template <class Bits>
std::vector<Bits> float_inputs(const Format& f) {
  auto values = float_edges<Bits>(f, 60);
  for (int power = -2; power < 66; ++power) {
    for (const Real step : {-1.5L, -1.0L, -0.5L, 0.0L, 0.5L, 1.0L, 1.5L, 0.25L}) {
      const Real near = std::ldexp(1.0L, power) + step;
      for (const int mode : {FE_DOWNWARD, FE_UPWARD}) {
        values.push_back(static_cast<Bits>(encode(near, f, mode)));
        values.push_back(static_cast<Bits>(encode(-near, f, mode)));
      }
    }
  }
  return values;
}

inline Real integral(Real value, int mode) {
  switch (mode) {
    case FE_TONEAREST: {
      const Real low = std::floor(value);
      const Real rest = value - low;
      const bool odd = std::fmod(low, 2.0L) != 0;
      return rest > 0.5L || (rest == 0.5L && odd) ? low + 1 : low;
    }
    case FE_TOWARDZERO:
      return std::trunc(value);
    case FE_DOWNWARD:
      return std::floor(value);
    default:
      return std::ceil(value);
  }
}

/// Clamped to the type, in 64 bits. NaN of a narrow format is 0 in a narrow integer, else the sign
/// bit.
inline std::uint64_t as_integer(Real value, const FloatType& from, const IntegerType& to,
                                int mode) {
  if (std::isnan(value)) {
    const bool zero = from.format.bits() < 64 && to.bits < 64;
    const std::uint64_t top = std::uint64_t{1} << (to.bits - 1);
    return zero ? 0 : static_cast<std::uint64_t>(value_of(top, to));
  }
  const Real near = std::clamp(integral(value, mode), static_cast<Real>(to.least()),
                               static_cast<Real>(to.most()));
  return static_cast<std::uint64_t>(static_cast<Big>(near));
}

/// Values around each value of the format and around the middle between neighbours.
template <class Bits>
std::vector<Bits> around(const Format& narrow, const Format& wide) {
  auto values = float_edges<Bits>(wide, 300);
  const std::uint64_t top = narrow.infinity();
  for (std::uint64_t i = 0; i < top; i += narrow.bits() == 16 ? 37 : top / 2000) {
    const Real low = decode(i, narrow);
    const Real high = i + 1 == top ? 2 * low - decode(i - 1, narrow) : decode(i + 1, narrow);
    for (const Real value : {low, (low + high) / 2}) {
      const std::uint64_t bits = encode(value, wide);
      for (const std::uint64_t near : {bits - 1, bits, bits + 1}) {
        values.push_back(static_cast<Bits>(near & (wide.sign() - 1)));
        values.push_back(static_cast<Bits>(near | wide.sign()));
      }
    }
  }
  return values;
}

/// .sat
inline std::uint64_t clamped(std::uint64_t bits, const Format& f) {
  const auto one = static_cast<std::uint64_t>(f.bias()) << f.fraction;
  if (is_nan(bits, f) || (bits & f.sign()) != 0) return 0;
  return std::min(bits, one);
}

}  // namespace twin_test
