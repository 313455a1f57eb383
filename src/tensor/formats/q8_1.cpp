// Q8_1: 32 elements in 36 bytes: a scale d and a sum s (F16), and 32 signed bytes q; s = d * (sum
// of q). value = q * d. A format of products under way: s serves formats with a smallest value. It
// is not stored in files.
#include "tensor/formats/bits.h"
#include "tensor/formats/blocks.h"

namespace shunt::formats {

void Q8_1::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  for (int i = 0; i < kElements; ++i) {
    values[i] = static_cast<float>(load_little<std::int8_t>(block + 4 + i)) * d;
  }
}

}  // namespace shunt::formats
