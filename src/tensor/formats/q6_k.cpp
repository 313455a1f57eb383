// Q6_K: 256 elements in 210 bytes. First the lower 4 bits of 256 numbers q of 6 bits, then their
// upper 2 bits. Then scales s (signed bytes) for 16 parts of 16 elements. Last, a scale d (F16).
// `value = d * s * (q - 32)`.
#include "tensor/formats/block_scale.h"
#include "tensor/formats/blocks.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {

struct Q6_K::Layout {
  static constexpr int kParts = 16;
  static constexpr int kPart = 16;
  static constexpr int kHighBitsAt = 128;
  static constexpr int kPartScalesAt = 192;
  static constexpr int kScaleAt = 208;
};

void Q6_K::decode(const std::byte* block, float* values) {
  const float d = load_f16(block + Layout::kScaleAt);
  std::uint8_t q[kElements];
  Fields<4, 64>::unpack(block, kElements, q);
  Fields<2, 32>::unpack_above(block + Layout::kHighBitsAt, kElements, 4, q);
  for (int part = 0; part < Layout::kParts; ++part) {
    const float scale =
        d * static_cast<float>(load_little<std::int8_t>(block + Layout::kPartScalesAt + part));
    for (int i = part * Layout::kPart; i < (part + 1) * Layout::kPart; ++i) {
      values[i] = scale * static_cast<float>(q[i] - 32);
    }
  }
}

void Q6_K::encode(const float* values, const float* weights, std::byte* block) {
  constexpr Scan kScan = {.from = 26.0f, .step = 0.25f, .count = 36};
  constexpr Multiples kMultiples = {.first = -128, .step = 1, .count = 256};
  const auto fit = ScaledBlock<IntegerLevels<-32, 31>, Layout::kPart>::fit(values, weights, kScan,
                                                                           kMultiples, 8);
  Fields<4, 64>::pack(fit.indices, kElements, 0, block);
  Fields<2, 32>::pack(fit.indices, kElements, 4, block + Layout::kHighBitsAt);
  for (std::size_t part = 0; part < Layout::kParts; ++part) {
    store_little(static_cast<std::int8_t>(fit.scale.k[part] - 128),
                 block + Layout::kPartScalesAt + part);
  }
  store_f16(fit.scale.d, block + Layout::kScaleAt);
}

}  // namespace shunt::formats
