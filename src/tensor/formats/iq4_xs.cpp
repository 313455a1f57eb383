// IQ4_XS: 256 elements in 136 bytes. First a scale d (F16). Then scales s of 6 bits for 8 parts of
// 32 elements: first their upper 2 bits, then their lower 4. Last, 256 indices q of 4 bits into a
// table of levels.
// `value = d * (s - 32) * level[q]`.
#include "tensor/formats/block_scale.h"
#include "tensor/formats/blocks.h"
#include "tensor/formats/iq4_levels.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {

struct IQ4_XS::Layout {
  static constexpr int kParts = 8;
  static constexpr int kPart = 32;
  static constexpr int kHighBitsAt = 2;
  static constexpr int kLowBitsAt = 4;
  static constexpr int kNumbersAt = 8;
};

void IQ4_XS::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  std::uint8_t scales[Layout::kParts];
  std::uint8_t q[kElements];
  Fields<4, 1>::unpack(block + Layout::kLowBitsAt, Layout::kParts, scales);
  Fields<2, 1>::unpack_above(block + Layout::kHighBitsAt, Layout::kParts, 4, scales);
  Fields<4, 16>::unpack(block + Layout::kNumbersAt, kElements, q);
  for (int part = 0; part < Layout::kParts; ++part) {
    const float scale = d * static_cast<float>(scales[part] - 32);
    for (int i = part * Layout::kPart; i < (part + 1) * Layout::kPart; ++i)
      values[i] = scale * kIq4Levels[q[i]];
  }
}

void IQ4_XS::encode(const float* values, const float* weights, std::byte* block) {
  constexpr Multiples kMultiples = {.first = -32, .step = 1, .count = 64};
  const auto fit =
      ScaledBlock<Iq4Levels, Layout::kPart>::fit(values, weights, kIq4Scan, kMultiples, 8);
  store_f16(fit.scale.d, block);
  Fields<2, 1>::pack(fit.scale.k.data(), Layout::kParts, 4, block + Layout::kHighBitsAt);
  Fields<4, 1>::pack(fit.scale.k.data(), Layout::kParts, 0, block + Layout::kLowBitsAt);
  Fields<4, 16>::pack(fit.indices, kElements, 0, block + Layout::kNumbersAt);
}

}  // namespace shunt::formats
