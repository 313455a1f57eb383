#include "tensor/formats/q4_0.h"

#include <cmath>

#include "tensor/byte_order.h"
#include "tensor/formats/half.h"

namespace shunt::formats::q4_0 {
namespace {

constexpr int kHalf = static_cast<int>(kElements) / 2;

/// The first element of largest magnitude, with its sign.
float largest(const float* block) {
  float result = 0.0f;
  for (int j = 0; j < kElements; ++j) {
    if (std::fabs(block[j]) > std::fabs(result)) result = block[j];
  }
  return result;
}

/// 0 to 15. The sum is within [0.5, 16.5] unless 1/d overflowed or something was not finite, and a
/// conversion of what doesn't fit an int is undefined: hence the comparisons before it.
std::uint8_t quantize(float scaled) {
  const float shifted = scaled + 8.5f;
  if (std::isnan(shifted)) return 8;
  if (shifted >= 15.0f) return 15;
  return shifted > 0.0f ? static_cast<std::uint8_t>(shifted) : std::uint8_t{0};
}

}  // namespace

void decode(const std::byte* from, float* to, std::int64_t n) {
  for (; n > 0; n -= kElements, from += kBytes, to += kElements) {
    const float d = f16_to_f32(load_little<std::uint16_t>(from));
    for (int j = 0; j < kHalf; ++j) {
      const int pair = std::to_integer<int>(from[2 + j]);
      to[j] = static_cast<float>((pair & 0xf) - 8) * d;
      to[j + kHalf] = static_cast<float>((pair >> 4) - 8) * d;
    }
  }
}

void encode(const float* from, std::byte* to, std::int64_t n) {
  for (; n > 0; n -= kElements, from += kElements, to += kBytes) {
    const float d = largest(from) / -8.0f;
    const float inverse = d != 0.0f ? 1.0f / d : 0.0f;  // of d before it is rounded to F16
    store_little(f32_to_f16(d), to);
    for (int j = 0; j < kHalf; ++j) {
      const int low = quantize(from[j] * inverse);
      const int high = quantize(from[j + kHalf] * inverse);
      to[2 + j] = static_cast<std::byte>(low | high << 4);
    }
  }
}

}  // namespace shunt::formats::q4_0
