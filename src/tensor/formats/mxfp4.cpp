// MXFP4 (OCP Microscaling Formats 1.0): 32 elements in 17 bytes. First an exponent e (E8M0), then
// 32 numbers of 4 bits, floats of 1 sign, 2 exponent and 1 mantissa bit (E2M1).
// `value = number * 2^(e - 127)`; e = 255 makes all of them not-a-number.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tensor/formats/blocks.h"
#include "tensor/formats/levels.h"
#include "tensor/formats/round.h"
#include "tensor/formats/scale_search.h"

namespace shunt::formats {
namespace {

/// All numbers in ascending order, with one zero, and which ones they are.
constexpr float kAscending[15] = {-6.0f, -4.0f, -3.0f, -2.0f, -1.5f, -1.0f, -0.5f, 0.0f,
                                  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f};
constexpr std::uint8_t kSorted[15] = {15, 14, 13, 12, 11, 10, 9, 0, 1, 2, 3, 4, 5, 6, 7};
using Levels = TableLevels<kAscending>;

constexpr int kBias = 127;

/// 2^(e - 127).
float power(int e) {
  if (e == 255) return std::numeric_limits<float>::quiet_NaN();
  if (e == 0) return 0x1p-127f;  // not a normal F32
  return std::bit_cast<float>(static_cast<std::uint32_t>(e) << 23);
}

/// 2^e, for e from -1022 to 1023.
double power_of_two(int e) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}
/// The exponent of the largest power of two that is not above a positive number.
int exponent_of(double value) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52) - 1023;
}

}  // namespace

void MXFP4::decode(const std::byte* block, float* values) {
  const float scale = power(std::to_integer<int>(block[0]));
  std::uint8_t q[kElements];
  Fields<4, 16>::unpack(block + 1, kElements, q);
  for (int i = 0; i < kElements; ++i) values[i] = kE2M1Numbers[q[i]] * scale;
}

/// The best exponent of all. A scale that makes the largest magnitude 2 to 4 is the largest worth
/// trying: the next has but some of its numbers. Going down ends where a scale could take off no
/// more than the best does: scale * number is at most 6 * scale, and 2 * value * that, less its
/// square, at most 12 * scale * value.
void MXFP4::encode(const float* values, const float* weights, std::byte* block) {
  // Values in units of the power of two below the largest, so that squares stay within F32.
  const float top = std::fabs(largest(values, kElements));
  const int unit = top > 0 ? exponent_of(top) : 0;
  const double units = power_of_two(-unit);
  alignas(kLanesAlign) float x[kElements];
  float magnitudes = 0;
  for (int i = 0; i < kElements; ++i) {
    x[i] = static_cast<float>(static_cast<double>(values[i]) * units);
    magnitudes += weights[i] * std::fabs(x[i]);
  }
  const auto scale_of = [&](int e) { return static_cast<float>(power_of_two(e - kBias - unit)); };
  int best = 0;
  float best_gain = 0;
  for (int e = std::max(unit - 1 + kBias, 0); e >= 0; --e) {
    const float scale = scale_of(e);
    if (12 * scale * magnitudes <= best_gain) break;
    const float gain = sums_at<Levels, kElements>(x, weights, scale).gain(scale);
    if (gain <= best_gain) continue;
    best = e;
    best_gain = gain;
  }
  std::uint8_t q[kElements];
  indices_at<Levels, kElements>(x, scale_of(best), q);
  for (std::uint8_t& index : q) index = kSorted[index];
  block[0] = static_cast<std::byte>(best);
  Fields<4, 16>::pack(q, kElements, 0, block + 1);
}

}  // namespace shunt::formats
