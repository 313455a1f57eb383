// IQ1_S: 256 elements in 50 bytes. First a scale d (F16). Then the lower 8 bits of indices of 11
// bits for 32 vectors of 8 elements of -1, 0 and 1. Then 16 bits for each of 8 parts of 32
// elements: 4 times the upper 3 bits of an index, 3 bits of scale s, and a bit that makes the shift
// negative.
// `value = d * (2 * s + 1) * (vector + shift)`, the shift being 1/8 or -1/8.
#include "tensor/formats/blocks.h"
#include "tensor/formats/iq1_search.h"
#include "tensor/formats/iq_codebooks.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {

struct IQ1_S::Layout {
  static constexpr int kParts = 8;
  static constexpr int kVectors = 4;  // of a part
  static constexpr int kLowBitsAt = 2;
  static constexpr int kBitsAt = 34;
};

void IQ1_S::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  for (int part = 0; part < Layout::kParts; ++part) {
    const unsigned bits =
        load_little<std::uint16_t>(block + Layout::kBitsAt + 2 * std::ptrdiff_t{part});
    const float scale = d * static_cast<float>(2 * (bits >> 12 & 7) + 1);
    const float shift = (bits >> 15) != 0 ? -kIq1Shift : kIq1Shift;
    for (int i = 0; i < Layout::kVectors; ++i) {
      const int vector = part * Layout::kVectors + i;
      const unsigned index =
          std::to_integer<unsigned>(block[Layout::kLowBitsAt + vector]) | (bits >> 3 * i & 7) << 8;
      write_shifted(kIq1Vectors[index], shift, scale, values + std::ptrdiff_t{vector} * 8);
    }
  }
}

void IQ1_S::encode(const float* values, const float* weights, std::byte* block) {
  constexpr std::size_t kPart = kElements / Layout::kParts;
  const auto fit = ShiftedVectors<kPart, kPart>(values, weights).fit();
  store_f16(fit.scale.d, block);
  for (std::size_t part = 0; part < Layout::kParts; ++part) {
    unsigned bits =
        static_cast<unsigned>(fit.scale.k[part]) << 12 | (fit.negative[part] ? 1u << 15 : 0);
    for (std::size_t i = 0; i < Layout::kVectors; ++i) {
      const unsigned index = fit.index[part * Layout::kVectors + i];
      block[Layout::kLowBitsAt + part * Layout::kVectors + i] = static_cast<std::byte>(index & 255);
      bits |= index >> 8 << 3 * i;
    }
    store_little(static_cast<std::uint16_t>(bits), block + Layout::kBitsAt + 2 * part);
  }
}

}  // namespace shunt::formats
