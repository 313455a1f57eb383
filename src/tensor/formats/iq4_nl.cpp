// IQ4_NL: 32 elements in 18 bytes: a scale d (F16) and 32 indices q of 4 bits into a table of
// levels. value = d * level[q].
#include "tensor/formats/bits.h"
#include "tensor/formats/blocks.h"
#include "tensor/formats/iq4_levels.h"

namespace shunt::formats {

void IQ4_NL::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  std::uint8_t q[kElements];
  Fields<4, 16>::unpack(block + 2, kElements, q);
  for (int i = 0; i < kElements; ++i) values[i] = d * kIq4Levels[q[i]];
}

}  // namespace shunt::formats
