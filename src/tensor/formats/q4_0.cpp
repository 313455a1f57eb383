// Q4_0: 32 elements in 18 bytes: a scale d (F16) and 32 numbers q of 4 bits.
// value = (q - 8) * d.
#include "tensor/formats/block_scale.h"
#include "tensor/formats/blocks.h"
#include "tensor/formats/round.h"

namespace shunt::formats {

void Q4_0::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  std::uint8_t q[kElements];
  Fields<4, 16>::unpack(block + 2, kElements, q);
  for (int i = 0; i < kElements; ++i) values[i] = static_cast<float>(q[i] - 8) * d;
}

/// Without weights: d is such that the element of largest magnitude becomes -8.
void Q4_0::encode(const float* values, std::byte* block) {
  const float d = largest(values, kElements) / -8.0f;
  const float inverse = reciprocal(d);  // of d before it is rounded to F16
  std::uint8_t q[kElements];
  for (int i = 0; i < kElements; ++i) {
    q[i] = truncate<15>(values[i] * inverse + 8.5f);
  }
  store_f16(d, block);
  Fields<4, 16>::pack(q, kElements, 0, block + 2);
}

void Q4_0::encode(const float* values, const float* weights, std::byte* block) {
  constexpr Scan kScan = {.from = 5.0f, .step = 0.1f, .count = 40};
  std::uint8_t q[kElements];
  store_f16(fit_scale<IntegerLevels<-8, 7>, kElements>(values, weights, kScan, q), block);
  Fields<4, 16>::pack(q, kElements, 0, block + 2);
}

}  // namespace shunt::formats
