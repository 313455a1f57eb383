// Float formats for tests, computed with long double, ldexp and the host's rounding modes, and
// values at which roundings, subnormals, infinities and NaNs show.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "operands.h"

namespace twin_test {

struct Mode {
  const char* name;  // of PTX
  const char* integer_name;
  int fenv;
};
inline constexpr Mode kModes[] = {{"rn", "rni", FE_TONEAREST},
                                  {"rz", "rzi", FE_TOWARDZERO},
                                  {"rm", "rmi", FE_DOWNWARD},
                                  {"rp", "rpi", FE_UPWARD}};

/// The rounding of the host, for a scope. Operands and results go through volatile.
class HostRounding {
 public:
  explicit HostRounding(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;
  ~HostRounding() { std::fesetround(before_); }

 private:
  int before_;
};

struct Format {
  unsigned fraction, exponent;
  bool has_infinity = true;  // e4m3 has none: all but its NaN are numbers
  std::uint64_t nan = 0;     // canonical
  bool has_nan = true;       // else `nan` is the number that a NaN becomes
  int bias() const { return (1 << (exponent - 1)) - 1; }
  unsigned bits() const { return fraction + exponent + 1; }
  std::uint64_t sign() const { return std::uint64_t{1} << (bits() - 1); }
  std::uint64_t infinity() const { return ((std::uint64_t{1} << exponent) - 1) << fraction; }
};
inline constexpr Format kF16{10, 5, true, 0x7FFF};
inline constexpr Format kBf16{7, 8, true, 0x7FFF};
inline constexpr Format kF32{23, 8, true, 0x7FFFFFFF};
inline constexpr Format kF64{52, 11, true, 0xFFF8000000000000u};
inline constexpr Format kTf32{10, 8, true, 0};
inline constexpr Format kE4m3{3, 4, false, 0x7F};
inline constexpr Format kE5m2{2, 5, true, 0x7F};
inline constexpr Format kE2m1{1, 2, false, 0x7, false};
inline constexpr Format kE2m3{3, 2, false, 0x1F, false};
inline constexpr Format kE3m2{2, 3, false, 0x1F, false};

inline long double decode(std::uint64_t bits, const Format& f) {
  const std::uint64_t magnitude = bits & (f.sign() - 1);
  const long double sign = (bits & f.sign()) != 0 ? -1.0L : 1.0L;
  const auto field = static_cast<int>(magnitude >> f.fraction);
  const auto low = static_cast<long double>(magnitude & ((std::uint64_t{1} << f.fraction) - 1));
  const int top = (1 << f.exponent) - 1;
  if (f.has_infinity && field == top) {
    return low == 0 ? sign * std::numeric_limits<long double>::infinity()
                    : std::numeric_limits<long double>::quiet_NaN();
  }
  if (!f.has_infinity && f.has_nan && magnitude == f.sign() - 1) {
    return std::numeric_limits<long double>::quiet_NaN();
  }
  const int unit = (field == 0 ? 1 : field) - f.bias() - static_cast<int>(f.fraction);
  const long double hidden = field == 0 ? 0 : std::ldexp(1.0L, static_cast<int>(f.fraction));
  return sign * std::ldexp(low + hidden, unit);
}

/// The bits of the rounded value. `more`: the exact magnitude is a little above the value's.
/// Overflow gives infinity or the largest number, as IEEE 754 has it.
inline std::uint64_t encode(long double value, const Format& f, int mode = FE_TONEAREST,
                            bool more = false) {
  if (std::isnan(value)) return f.nan;
  const bool negative = std::signbit(value);
  const std::uint64_t sign = negative ? f.sign() : 0;
  const std::uint64_t top = f.has_infinity ? f.infinity() : f.sign() - 1;
  if (std::isinf(value)) return sign | top;
  const bool away = mode == (negative ? FE_DOWNWARD : FE_UPWARD);
  const long double magnitude = std::fabs(value);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int least = 2 - f.bias();  // the exponent of frexp of the smallest normal number
  if (magnitude == 0 || exponent < least) exponent = least;
  const int unit = exponent - 1 - static_cast<int>(f.fraction);
  const long double scaled = std::ldexp(magnitude, -unit);
  long double whole = std::floor(scaled);
  const long double rest = scaled - whole;
  const bool odd = std::fmod(whole, 2.0L) == 1.0L;
  const bool inexact = rest != 0 || more;
  const bool above_half = rest > 0.5L || (rest == 0.5L && more);
  const bool half = rest == 0.5L && !more;
  if (mode == FE_TONEAREST ? above_half || (half && odd) : inexact && away) ++whole;
  const auto count = static_cast<std::uint64_t>(whole);
  const std::uint64_t bits = (static_cast<std::uint64_t>(exponent - least) << f.fraction) + count;
  if (bits < top) return sign | bits;
  return sign | (mode == FE_TONEAREST || away ? top : top - 1);
}

inline float f32(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline double f64(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}

inline bool is_nan(std::uint64_t bits, const Format& f) {
  return (bits & (f.sign() - 1)) > f.infinity();
}
/// .ftz
inline std::uint64_t flush(std::uint64_t bits, const Format& f) {
  return (bits & f.infinity()) == 0 ? bits & f.sign() : bits;
}

/// Zeros, subnormals, numbers near 1 and near the borders, infinities, NaNs, and others.
template <class Bits>
std::vector<Bits> float_edges(const Format& f, unsigned others) {
  const std::uint64_t infinity = f.infinity();
  const std::uint64_t least = std::uint64_t{1} << f.fraction;
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias()) << f.fraction;
  std::vector<Bits> values;
  for (const std::uint64_t magnitude : {std::uint64_t{0},
                                        std::uint64_t{1},
                                        std::uint64_t{2},
                                        least / 2,
                                        least / 2 + 1,
                                        least - 1,
                                        least,
                                        least + 1,
                                        one - least,
                                        one - 1,
                                        one,
                                        one + 1,
                                        one + 3,
                                        one + least / 2,
                                        one + least,
                                        one + least + 1,
                                        infinity - least,
                                        infinity - 1,
                                        infinity,
                                        infinity + 1,
                                        infinity + least / 2,
                                        infinity + least - 1,
                                        one + f.fraction * least,
                                        one + (f.fraction + 1) * least}) {
    values.push_back(static_cast<Bits>(magnitude));
    values.push_back(static_cast<Bits>(magnitude | f.sign()));
  }
  RandomNumbers numbers(f.fraction);
  for (unsigned i = 0; i < others; ++i) {
    const std::uint64_t any = numbers.next();
    values.push_back(static_cast<Bits>(any));
    // Near 1, so that sums and quotients are not all of one operand.
    const std::uint64_t exponent = static_cast<std::uint64_t>(f.bias()) - 3 + any % 7;
    values.push_back(
        static_cast<Bits>((numbers.next() & (f.sign() | (least - 1))) | exponent << f.fraction));
  }
  return values;
}

}  // namespace twin_test
