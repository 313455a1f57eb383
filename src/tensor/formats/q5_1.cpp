// Q5_1: 32 elements in 24 bytes: a scale d and a smallest value m (F16), then the highest bits of
// 32 numbers q, then their lower 4 bits. value = q * d + m.
#include "tensor/formats/blocks.h"
#include "tensor/formats/pair_search.h"
#include "tensor/formats/round.h"

namespace shunt::formats {

void Q5_1::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  const float m = load_f16(block + 2);
  std::uint8_t q[kElements];
  Fields<4, 16>::unpack(block + 8, kElements, q);
  Fields<1, 1>::unpack_above(block + 4, kElements, 4, q);
  for (int i = 0; i < kElements; ++i) values[i] = static_cast<float>(q[i]) * d + m;
}

/// Without weights: the smallest element becomes 0, the largest 31.
void Q5_1::encode(const float* values, std::byte* block) {
  const auto [low, high] = range(values, kElements);
  const float d = (high - low) / 31.0f;
  const float inverse = reciprocal(d);  // of d before it is rounded to F16
  std::uint8_t q[kElements];
  for (int i = 0; i < kElements; ++i) q[i] = truncate<31>((values[i] - low) * inverse + 0.5f);
  store_f16(d, block);
  store_f16(low, block + 2);
  Fields<1, 1>::pack(q, kElements, 4, block + 4);
  Fields<4, 16>::pack(q, kElements, 0, block + 8);
}

void Q5_1::encode(const float* values, const float* weights, std::byte* block) {
  std::uint8_t q[kElements];
  const Line line = fit_line<31, kElements>(values, weights, q);
  store_f16(line.scale, block);
  store_f16(-line.minimum, block + 2);
  Fields<1, 1>::pack(q, kElements, 4, block + 4);
  Fields<4, 16>::pack(q, kElements, 0, block + 8);
}

}  // namespace shunt::formats
