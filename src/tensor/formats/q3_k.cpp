// Q3_K: 256 elements in 110 bytes. First the highest bits of 256 numbers q of 3 bits, then their
// lower 2 bits. Then scales s of 6 bits for 16 parts of 16 elements. Last, a scale d (F16).
// `value = d * (s - 32) * (q - 4)`.
#include "tensor/formats/block_scale.h"
#include "tensor/formats/blocks.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {

struct Q3_K::Layout {
  static constexpr int kParts = 16;
  static constexpr int kPart = 16;
  static constexpr int kNumbersAt = 32;
  static constexpr int kPartScalesAt = 96;
  static constexpr int kScaleAt = 108;
};

namespace {

// The lower 4 bits of the parts' scales are in 8 bytes, the upper 2 in the next 4.
void load_scales(const std::byte* block, std::uint8_t* scales) {
  Fields<4, 8>::unpack(block + Q3_K::Layout::kPartScalesAt, Q3_K::Layout::kParts, scales);
  Fields<2, 4>::unpack_above(block + Q3_K::Layout::kPartScalesAt + 8, Q3_K::Layout::kParts, 4,
                             scales);
}

}  // namespace

void Q3_K::decode(const std::byte* block, float* values) {
  const float d = load_f16(block + Layout::kScaleAt);
  std::uint8_t q[kElements];
  std::uint8_t scales[Layout::kParts];
  Fields<2, 32>::unpack(block + Layout::kNumbersAt, kElements, q);
  Fields<1, 32>::unpack_above(block, kElements, 2, q);
  load_scales(block, scales);
  for (int part = 0; part < Layout::kParts; ++part) {
    const float scale = d * static_cast<float>(scales[part] - 32);
    for (int i = part * Layout::kPart; i < (part + 1) * Layout::kPart; ++i) {
      values[i] = scale * static_cast<float>(q[i] - 4);
    }
  }
}

void Q3_K::encode(const float* values, const float* weights, std::byte* block) {
  constexpr Scan kScan = {.from = 1.5f, .step = 0.1f, .count = 35};
  constexpr Multiples kMultiples = {.first = -32, .step = 1, .count = 64};
  const auto fit =
      ScaledBlock<IntegerLevels<-4, 3>, Layout::kPart>::fit(values, weights, kScan, kMultiples, 8);
  Fields<1, 32>::pack(fit.indices, kElements, 2, block);
  Fields<2, 32>::pack(fit.indices, kElements, 0, block + Layout::kNumbersAt);
  Fields<4, 8>::pack(fit.scale.k.data(), Layout::kParts, 0, block + Layout::kPartScalesAt);
  Fields<2, 4>::pack(fit.scale.k.data(), Layout::kParts, 4, block + Layout::kPartScalesAt + 8);
  store_f16(fit.scale.d, block + Layout::kScaleAt);
}

}  // namespace shunt::formats
