// Q6_K: 256 elements in 210 bytes: the lower 4 bits of 256 numbers q of 6 bits, then their upper 2
// bits; scales s (signed bytes) for 16 parts of 16 elements; a scale d (F16).
// value = d * s * (q - 32).
#include "tensor/formats/blocks.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {
namespace {

constexpr int kParts = 16;
constexpr int kPart = 16;
constexpr int kHighBitsAt = 128;
constexpr int kPartScalesAt = 192;
constexpr int kScaleAt = 208;

}  // namespace

void Q6_K::decode(const std::byte* block, float* values) {
  const float d = load_f16(block + kScaleAt);
  std::uint8_t q[kElements];
  Fields<4, 64>::unpack(block, kElements, q);
  Fields<2, 32>::unpack_above(block + kHighBitsAt, kElements, 4, q);
  for (int part = 0; part < kParts; ++part) {
    const float scale =
        d * static_cast<float>(load_little<std::int8_t>(block + kPartScalesAt + part));
    for (int i = part * kPart; i < (part + 1) * kPart; ++i) {
      values[i] = scale * static_cast<float>(q[i] - 32);
    }
  }
}

}  // namespace shunt::formats
