// Operators of setp and set, and numbers to compare.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "operands.h"

namespace twin_test {

/// A comparison by "less", "equal" and "one is NaN", of which exactly one holds or none (greater).
struct Operator {
  const char* name;
  bool less, equal, greater, unordered;
  bool holds(bool is_less, bool is_equal, bool is_unordered) const {
    return is_unordered ? unordered : is_less ? less : is_equal ? equal : greater;
  }
};
inline constexpr Operator kSigned[] = {
    {"eq", false, true, false, false}, {"ne", true, false, true, false},
    {"lt", true, false, false, false}, {"le", true, true, false, false},
    {"gt", false, false, true, false}, {"ge", false, true, true, false}};
inline constexpr Operator kUnsigned[] = {{"lo", true, false, false, false},
                                         {"ls", true, true, false, false},
                                         {"hi", false, false, true, false},
                                         {"hs", false, true, true, false}};
inline constexpr Operator kUnordered[] = {
    {"equ", false, true, false, true}, {"neu", true, false, true, true},
    {"ltu", true, false, false, true}, {"leu", true, true, false, true},
    {"gtu", false, false, true, true}, {"geu", false, true, true, true},
    {"num", true, true, true, false},  {"nan", false, false, false, true}};

inline std::vector<Operator> operators_of(bool is_float, bool is_unsigned) {
  std::vector<Operator> result(std::begin(kSigned), std::end(kSigned));
  if (is_float) result.insert(result.end(), std::begin(kUnordered), std::end(kUnordered));
  if (is_unsigned) result.insert(result.end(), std::begin(kUnsigned), std::end(kUnsigned));
  return result;
}

/// The value of a floating-point format with these field widths, by its formula.
inline double decoded(std::uint64_t bits, int exponent_bits, int fraction_bits, bool flush) {
  const double sign = (bits >> (exponent_bits + fraction_bits) & 1) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> fraction_bits & ((1u << exponent_bits) - 1));
  const auto fraction = static_cast<double>(bits & ((std::uint64_t{1} << fraction_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return flush ? 0 : sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(1 + std::ldexp(fraction, -fraction_bits), exponent - bias);
}

/// Numbers of every class: zeros, subnormals, normals, infinities, NaNs.
template <class Bits>
std::vector<Bits> floats(int fraction_bits) {
  const auto sign = static_cast<Bits>(Bits(1) << (sizeof(Bits) * 8 - 1));
  const auto least = static_cast<Bits>(Bits(1) << fraction_bits);
  const auto infinity = static_cast<Bits>(sign - least);
  const auto one = static_cast<Bits>(infinity / 2 / least * least);
  std::vector<Bits> values = {0,
                              1,
                              static_cast<Bits>(least - 1),
                              least,
                              one,
                              static_cast<Bits>(one + 1),
                              static_cast<Bits>(infinity - 1),
                              infinity,
                              static_cast<Bits>(infinity + 1),
                              static_cast<Bits>(infinity + least / 2),
                              static_cast<Bits>(sign - 1)};
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<Bits>(values[i] | sign));
  return values;
}

}  // namespace twin_test
