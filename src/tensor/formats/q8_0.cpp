// Q8_0: 32 elements in 34 bytes: a scale d (F16) and 32 signed bytes q. value = q * d.
#include <algorithm>
#include <cmath>

#include "tensor/formats/blocks.h"
#include "tensor/formats/round.h"

namespace shunt::formats {

void Q8_0::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  for (int i = 0; i < kElements; ++i) {
    values[i] = static_cast<float>(load_little<std::int8_t>(block + 2 + i)) * d;
  }
}

/// d is such that the element of largest magnitude becomes 127 or -127; halves round away from
/// zero.
void Q8_0::encode(const float* values, std::byte* block) {
  const float d = std::fabs(largest(values, kElements)) / 127.0f;
  const float inverse = reciprocal(d);  // of d before it is rounded to F16
  store_f16(d, block);
  for (int i = 0; i < kElements; ++i) {
    const float q = std::clamp(std::round(values[i] * inverse), -127.0f, 127.0f);
    store_little(std::isnan(q) ? std::int8_t{0} : static_cast<std::int8_t>(q), block + 2 + i);
  }
}

}  // namespace shunt::formats
