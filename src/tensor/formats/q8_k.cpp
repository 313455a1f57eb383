// Q8_K: 256 elements in 292 bytes: a scale d (F32), 256 signed bytes q, and 16 sums (16 bits) of 16
// q each. value = q * d. A format of products under way: the sums serve formats with smallest
// values. It is not stored in files.
#include "tensor/byte_order.h"
#include "tensor/formats/blocks.h"

namespace shunt::formats {

void Q8_K::decode(const std::byte* block, float* values) {
  const auto d = load_little<float>(block);
  for (int i = 0; i < kElements; ++i) {
    values[i] = static_cast<float>(load_little<std::int8_t>(block + 4 + i)) * d;
  }
}

}  // namespace shunt::formats
