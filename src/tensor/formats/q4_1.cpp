// Q4_1: 32 elements in 20 bytes: a scale d and a smallest value m (F16), and 32 numbers q of 4
// bits. value = q * d + m.
#include "tensor/formats/blocks.h"
#include "tensor/formats/pair_search.h"
#include "tensor/formats/round.h"

namespace shunt::formats {

void Q4_1::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  const float m = load_f16(block + 2);
  std::uint8_t q[kElements];
  Fields<4, 16>::unpack(block + 4, kElements, q);
  for (int i = 0; i < kElements; ++i) values[i] = static_cast<float>(q[i]) * d + m;
}

/// Without weights: the smallest element becomes 0, the largest 15.
void Q4_1::encode(const float* values, std::byte* block) {
  const auto [low, high] = range(values, kElements);
  const float d = (high - low) / 15.0f;
  const float inverse = reciprocal(d);  // of d before it is rounded to F16
  std::uint8_t q[kElements];
  for (int i = 0; i < kElements; ++i) q[i] = truncate<15>((values[i] - low) * inverse + 0.5f);
  store_f16(d, block);
  store_f16(low, block + 2);
  Fields<4, 16>::pack(q, kElements, 0, block + 4);
}

void Q4_1::encode(const float* values, const float* weights, std::byte* block) {
  std::uint8_t q[kElements];
  const Line line = fit_line<15, kElements>(values, weights, q);
  store_f16(line.scale, block);
  store_f16(-line.minimum, block + 2);
  Fields<4, 16>::pack(q, kElements, 0, block + 4);
}

}  // namespace shunt::formats
