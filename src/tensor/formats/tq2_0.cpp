// TQ2_0: 256 elements in 66 bytes: 256 numbers q of 2 bits and a scale d (F16).
// value = (q - 1) * d; made for weights that are -1, 0 or 1 times a scale.
#include <cmath>

#include "tensor/formats/blocks.h"
#include "tensor/formats/round.h"

namespace shunt::formats {

struct TQ2_0::Layout {
  static constexpr int kScaleAt = 64;
};

void TQ2_0::decode(const std::byte* block, float* values) {
  const float d = load_f16(block + Layout::kScaleAt);
  std::uint8_t q[kElements];
  Fields<2, 32>::unpack(block, kElements, q);
  for (int i = 0; i < kElements; ++i) values[i] = static_cast<float>(q[i] - 1) * d;
}

/// d is the largest magnitude.
void TQ2_0::encode(const float* values, std::byte* block) {
  const float d = std::fabs(largest(values, kElements));
  const float inverse = reciprocal(d);
  std::uint8_t q[kElements];
  for (int i = 0; i < kElements; ++i) q[i] = ternary(values[i] * inverse);
  Fields<2, 32>::pack(q, kElements, 0, block);
  store_f16(d, block + Layout::kScaleAt);
}

}  // namespace shunt::formats
