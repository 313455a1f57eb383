#include "common/reals.h"

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

// A machine that computes with more digits than the type has would give other bits.
static_assert(std::numeric_limits<double>::is_iec559);
static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1);  // float in double does no harm here

namespace twin {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kLn2High =
    0x1.62e42fefa0000p-1;  // the last bits are zero: its multiples are exact
constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;

double power_of_two(int exponent) {  // -1022 to 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

}  // namespace

double exp_of(double x) {
  if (std::isnan(x)) return x;
  if (x > 700) return std::numeric_limits<double>::infinity();
  if (x < -700) return 0;
  // x = k ln 2 + r, |r| <= ln 2 / 2; exp(r) by its series.
  const double k = std::floor(x * kLog2E + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 1;
  for (int n = 14; n >= 1; --n) sum = 1 + sum * r / n;
  return sum * power_of_two(static_cast<int>(k));
}

double log_of(double x) {
  if (std::isnan(x) || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (std::isinf(x)) return x;
  if (x < std::numeric_limits<double>::min()) return log_of(x * 0x1p54) - 54 * (kLn2High + kLn2Low);
  // x = m 2^e with m about 1; log m = 2 artanh(s), s = (m - 1) / (m + 1).
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFu) | (std::uint64_t{1023} << 52));
  if (m > 0x1.6a09e667f3bcdp+0) {  // sqrt(2)
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int n = 23; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return exponent * kLn2High + (2 * s * sum + exponent * kLn2Low);
}

double tanh_of(double x) {
  if (std::isnan(x)) return x;
  const double size = std::fabs(x);
  double result = 1;
  if (size < 1e-4) {
    result = size - size * size * size / 3;  // the next term is below 1e-21
  } else if (size < 20) {
    const double e = exp_of(2 * size);
    result = (e - 1) / (e + 1);
  }
  return std::copysign(result, x);
}

double sigmoid_of(double x) {
  return 1 / (1 + exp_of(-x));
}

double gelu_of(double x) {
  return 0.5 * x * (1 + tanh_of(0.7978845608 * (x + 0.044715 * x * x * x)));
}

double round_half_away(double x) {
  return std::round(x);
}

double round_half_even(double x) {
  const double away = std::round(x);
  return std::fabs(x - std::trunc(x)) == 0.5 ? 2 * std::round(x / 2) : away;
}

}  // namespace twin
