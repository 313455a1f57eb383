// IQ4_NL: 32 elements in 18 bytes: a scale d (F16) and 32 indices q of 4 bits into a table of
// levels. value = d * level[q].
#include "tensor/formats/bits.h"
#include "tensor/formats/block_scale.h"
#include "tensor/formats/blocks.h"
#include "tensor/formats/iq4_levels.h"

namespace shunt::formats {

void IQ4_NL::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  std::uint8_t q[kElements];
  Fields<4, 16>::unpack(block + 2, kElements, q);
  for (int i = 0; i < kElements; ++i) values[i] = d * kIq4Levels[q[i]];
}

void IQ4_NL::encode(const float* values, const float* weights, std::byte* block) {
  std::uint8_t q[kElements];
  store_f16(fit_scale<Iq4Levels, kElements>(values, weights, kIq4Scan, q), block);
  Fields<4, 16>::pack(q, kElements, 0, block + 2);
}

}  // namespace shunt::formats
