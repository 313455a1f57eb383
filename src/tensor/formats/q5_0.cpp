// Q5_0: 32 elements in 22 bytes: a scale d (F16), then the highest bits of 32 numbers q, then their
// lower 4 bits. value = (q - 16) * d.
#include "tensor/formats/block_scale.h"
#include "tensor/formats/blocks.h"
#include "tensor/formats/round.h"

namespace shunt::formats {

void Q5_0::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  std::uint8_t q[kElements];
  Fields<4, 16>::unpack(block + 6, kElements, q);
  Fields<1, 1>::unpack_above(block + 2, kElements, 4, q);
  for (int i = 0; i < kElements; ++i) values[i] = static_cast<float>(q[i] - 16) * d;
}

/// Without weights: d is such that the element of largest magnitude becomes -16.
void Q5_0::encode(const float* values, std::byte* block) {
  const float d = largest(values, kElements) / -16.0f;
  const float inverse = reciprocal(d);  // of d before it is rounded to F16
  std::uint8_t q[kElements];
  for (int i = 0; i < kElements; ++i) {
    q[i] = truncate<31>(values[i] * inverse + 16.5f);
  }
  store_f16(d, block);
  Fields<1, 1>::pack(q, kElements, 4, block + 2);
  Fields<4, 16>::pack(q, kElements, 0, block + 6);
}

void Q5_0::encode(const float* values, const float* weights, std::byte* block) {
  constexpr Scan kScan = {.from = 12.0f, .step = 0.15f, .count = 40};
  std::uint8_t q[kElements];
  store_f16(fit_scale<IntegerLevels<-16, 15>, kElements>(values, weights, kScan, q), block);
  Fields<1, 1>::pack(q, kElements, 4, block + 2);
  Fields<4, 16>::pack(q, kElements, 0, block + 6);
}

}  // namespace shunt::formats
