#include "ascend/numbers/functions.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/reals.h"

namespace ascend_twin {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The bits of 2/pi behind the point.
constexpr std::uint32_t kTwoOverPi[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d};
constexpr int kWords = 40;
constexpr int kLimbs = 6;
constexpr double kHalfPi = 0x1.921fb54442d18p+0;
constexpr double kHalfPiRest = 0x1.1a62633145c07p-54;

/// 32 bits of 2/pi from this place on; zeros before the point.
std::uint32_t bits_at(int place) {
  const int word = place >= 0 ? place / 32 : -((31 - place) / 32);
  const int shift = place - 32 * word;
  const auto at = [](int index) {
    return std::uint64_t{index < 0 || index >= kWords ? 0 : kTwoOverPi[index]};
  };
  return static_cast<std::uint32_t>((at(word) << 32 | at(word + 1)) >> (32 - shift));
}

/// x = (quadrant + a multiple of 4) * pi/2 + rest, with rest within pi/4.
struct Angle {
  unsigned quadrant;
  double rest;
};

/// x * 2/pi as integers of 192 bits, 190 of them behind the point. Multiples of 4 fall out.
Angle angle_of(double size) {
  if (size <= kHalfPi / 2) return {0, size};
  const int exponent = std::ilogb(size) - 52;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(size, -exponent));
  std::array<std::uint64_t, kLimbs> product{};  // the least first, 32 bits each
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t factor = mantissa >> (32 * i) & 0xFFFFFFFFU;
    std::uint64_t carry = 0;
    for (int j = 0; i + j < kLimbs; ++j) {
      const auto place = static_cast<std::size_t>(i) + static_cast<std::size_t>(j);
      std::uint64_t& limb = product[place];
      const std::uint64_t sum =
          factor * bits_at(exponent - 2 + 32 * (kLimbs - 1 - j)) + limb + carry;
      limb = sum & 0xFFFFFFFFU;
      carry = sum >> 32;
    }
  }
  auto quadrant = static_cast<unsigned>(product.back() >> 30);
  product.back() &= 0x3FFFFFFFU;
  const bool is_negative = product.back() >> 29 != 0;  // nearer to the next quadrant
  if (is_negative) {
    ++quadrant;
    std::uint64_t carry = 1;
    for (std::uint64_t& limb : product) {
      limb = (limb ^ 0xFFFFFFFFU) + carry;
      carry = limb >> 32;
      limb &= 0xFFFFFFFFU;
    }
    product.back() &= 0x3FFFFFFFU;
  }
  double turns = 0;
  for (int j = 0; j < kLimbs; ++j)
    turns += std::ldexp(static_cast<double>(product[static_cast<std::size_t>(j)]), 32 * j - 190);
  const double rest = turns * kHalfPi + turns * kHalfPiRest;
  return {quadrant, is_negative ? -rest : rest};
}

// Taylor series within pi/4.
double sin_series(double x) {
  const double square = x * x;
  double sum = 1;
  for (int n = 20; n >= 2; n -= 2) sum = 1 - sum * square / (n * (n + 1));
  return x * sum;
}
double cos_series(double x) {
  const double square = x * x;
  double sum = 1;
  for (int n = 19; n >= 1; n -= 2) sum = 1 - sum * square / (n * (n + 1));
  return sum;
}

double quarter_wave(const Angle& angle, unsigned shift) {
  const unsigned quadrant = angle.quadrant + shift;
  const double size = quadrant % 2 == 0 ? sin_series(angle.rest) : cos_series(angle.rest);
  return quadrant % 4 < 2 ? size : -size;
}

/// base^exponent for a whole exponent that is not negative.
double power(double base, std::uint32_t exponent) {
  double result = 1;
  for (double square = base; exponent != 0; exponent /= 2, square *= square) {
    if (exponent % 2 != 0) result *= square;
  }
  return result;
}

bool is_odd(double whole) {
  return std::fabs(std::fmod(whole, 2)) == 1;
}

}  // namespace

double sin_of(double x) {
  if (!std::isfinite(x)) return kNan;
  if (x == 0) return x;
  return std::copysign(1.0, x) * quarter_wave(angle_of(std::fabs(x)), 0);
}

double cos_of(double x) {
  if (!std::isfinite(x)) return kNan;
  return quarter_wave(angle_of(std::fabs(x)), 1);
}

double erf_of(double x) {
  if (std::isnan(x)) return x;
  const double size = std::fabs(x);
  if (size > 6) return std::copysign(1.0, x);  // 1 - erf(6) is below 1e-16
  // 2/sqrt(pi) * exp(-x^2) * (x + x^3 2/3 + x^5 2^2/(3*5) + ...): all terms have one sign.
  const double square = size * size;
  double term = size;
  double sum = size;
  for (int n = 1; term > sum * 1e-18; ++n) {
    term *= 2 * square / (2 * n + 1);
    sum += term;
  }
  const double result = 0x1.20dd750429b6dp+0 * twin::exp_of(-square) * sum;
  return std::copysign(result < 1 ? result : 1.0, x);
}

double expm1_of(double x) {
  if (std::isnan(x) || std::fabs(x) >= 0.5) return twin::exp_of(x) - 1;
  double sum = 1;
  for (int n = 18; n >= 2; --n) sum = 1 + sum * x / n;
  return x * sum;
}

double log1p_of(double x) {
  if (std::isnan(x) || x < -0.25 || x > 0.5) return twin::log_of(1 + x);
  // 2 artanh(s), s = x / (2 + x)
  const double s = x / (2 + x);
  const double square = s * s;
  double sum = 0;
  for (int n = 31; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return x == 0 ? x : 2 * s * sum;
}

double pow_of(double base, double exponent) {
  if (exponent == 0 || base == 1) return 1;
  if (std::isnan(base) || std::isnan(exponent)) return kNan;
  const double size = std::fabs(base);
  if (std::isinf(exponent)) {
    if (size == 1) return 1;
    return (size > 1) == (exponent > 0) ? kInfinite : 0;
  }
  const bool is_whole = std::floor(exponent) == exponent;
  const double sign = std::signbit(base) && is_whole && is_odd(exponent) ? -1 : 1;
  if (base == 0 || std::isinf(base)) return sign * ((base == 0) == (exponent > 0) ? 0 : kInfinite);
  if (base < 0 && !is_whole) return kNan;
  if (is_whole && std::fabs(exponent) <= 1024) {
    const double result = power(size, static_cast<std::uint32_t>(std::fabs(exponent)));
    return sign * (exponent < 0 ? 1 / result : result);
  }
  if (std::fabs(exponent) == 0.5) {
    const double root = std::sqrt(base);
    return exponent < 0 ? 1 / root : root;
  }
  return sign * twin::exp_of(exponent * twin::log_of(size));
}

}  // namespace ascend_twin
