#include "tensor/formats/q8_0.h"

#include <algorithm>
#include <cmath>

#include "tensor/byte_order.h"
#include "tensor/formats/half.h"

namespace shunt::formats::q8_0 {
namespace {

/// -127 to 127, also where 1/d overflowed or something was not finite.
std::int8_t quantize(float scaled) {
  if (std::isnan(scaled)) return 0;
  return static_cast<std::int8_t>(std::clamp(std::round(scaled), -127.0f, 127.0f));
}

}  // namespace

void decode(const std::byte* from, float* to, std::int64_t n) {
  for (; n > 0; n -= kElements, from += kBytes, to += kElements) {
    const float d = f16_to_f32(load_little<std::uint16_t>(from));
    for (int j = 0; j < kElements; ++j) {
      to[j] = static_cast<float>(load_little<std::int8_t>(from + 2 + j)) * d;
    }
  }
}

void encode(const float* from, std::byte* to, std::int64_t n) {
  for (; n > 0; n -= kElements, from += kElements, to += kBytes) {
    float largest = 0.0f;
    for (int j = 0; j < kElements; ++j) largest = std::max(largest, std::fabs(from[j]));
    const float d = largest / 127.0f;
    const float inverse = d != 0.0f ? 1.0f / d : 0.0f;  // of d before it is rounded to F16
    store_little(f32_to_f16(d), to);
    for (int j = 0; j < kElements; ++j) store_little(quantize(from[j] * inverse), to + 2 + j);
  }
}

}  // namespace shunt::formats::q8_0
