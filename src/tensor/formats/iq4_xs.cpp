// IQ4_XS: 256 elements in 136 bytes: a scale d (F16); scales s of 6 bits for 8 parts of 32
// elements: first their upper 2 bits, then their lower 4; 256 indices q of 4 bits into a table of
// levels. value = d * (s - 32) * level[q].
#include "tensor/formats/block_scale.h"
#include "tensor/formats/blocks.h"
#include "tensor/formats/iq4_levels.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {
namespace {

constexpr int kParts = 8;
constexpr int kPart = 32;
constexpr int kHighBitsAt = 2;
constexpr int kLowBitsAt = 4;
constexpr int kNumbersAt = 8;

}  // namespace

void IQ4_XS::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  std::uint8_t scales[kParts];
  std::uint8_t q[kElements];
  Fields<4, 1>::unpack(block + kLowBitsAt, kParts, scales);
  Fields<2, 1>::unpack_above(block + kHighBitsAt, kParts, 4, scales);
  Fields<4, 16>::unpack(block + kNumbersAt, kElements, q);
  for (int part = 0; part < kParts; ++part) {
    const float scale = d * static_cast<float>(scales[part] - 32);
    for (int i = part * kPart; i < (part + 1) * kPart; ++i) values[i] = scale * kIq4Levels[q[i]];
  }
}

void IQ4_XS::encode(const float* values, const float* weights, std::byte* block) {
  constexpr Multiples kMultiples = {.first = -32, .step = 1, .count = 64};
  const auto fit = ScaledBlock<Iq4Levels, kPart>::fit(values, weights, kIq4Scan, kMultiples, 8);
  store_f16(fit.scale.d, block);
  Fields<2, 1>::pack(fit.scale.k.data(), kParts, 4, block + kHighBitsAt);
  Fields<4, 1>::pack(fit.scale.k.data(), kParts, 0, block + kLowBitsAt);
  Fields<4, 16>::pack(fit.indices, kElements, 0, block + kNumbersAt);
}

}  // namespace shunt::formats
