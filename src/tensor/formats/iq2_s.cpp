// IQ2_S: 256 elements in 82 bytes. First a scale d (F16). Then, for 32 vectors of 8 elements, the
// lower 8 bits of an index of 10, then a byte of signs each, then the upper 2 bits of the indices.
// Last, scales s of 4 bits for 16 parts of 16 elements.
// `value = d * (s + 0.5) / 4 * vector`, with its sign.
#include "tensor/formats/blocks.h"
#include "tensor/formats/codebook_search.h"
#include "tensor/formats/iq2_search.h"
#include "tensor/formats/iq_codebooks.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {

struct IQ2_S::Layout {
  static constexpr int kVectors = 32;
  static constexpr int kParts = 16;
  static constexpr int kLowBitsAt = 2;
  static constexpr int kSignsAt = 34;
  static constexpr int kHighBitsAt = 66;
  static constexpr int kPartScalesAt = 74;
};

void IQ2_S::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  std::uint8_t scales[Layout::kParts];
  std::uint8_t high[Layout::kVectors];
  Fields<4, 1>::unpack(block + Layout::kPartScalesAt, Layout::kParts, scales);
  Fields<2, 1>::unpack(block + Layout::kHighBitsAt, Layout::kVectors, high);
  for (int i = 0; i < Layout::kVectors; ++i) {
    const std::size_t index = std::to_integer<std::size_t>(block[Layout::kLowBitsAt + i]) |
                              static_cast<std::size_t>(high[i]) << 8;
    const int part = i / (Layout::kVectors / Layout::kParts);
    const float scale = d * (0.5f + static_cast<float>(scales[part])) * 0.25f;
    write_signed(kIq2SVectors[index], std::to_integer<unsigned>(block[Layout::kSignsAt + i]), scale,
                 values + std::ptrdiff_t{i} * 8);
  }
}

void IQ2_S::encode(const float* values, const float* weights, std::byte* block) {
  static const CodebookSearch kSearch(kIq2SVectors, kIq2Levels);
  const auto fit = fit_signed_vectors<kElements / Layout::kParts, false>(
      kSearch, values, weights, kIq2Scan, kIq2Multiples, 4);
  std::uint8_t high[Layout::kVectors];
  store_f16(fit.scale.d, block);
  for (std::size_t i = 0; i < Layout::kVectors; ++i) {
    block[Layout::kLowBitsAt + i] = static_cast<std::byte>(fit.index[i] & 255);
    block[Layout::kSignsAt + i] = static_cast<std::byte>(fit.signs[i]);
    high[i] = static_cast<std::uint8_t>(fit.index[i] >> 8);
  }
  Fields<2, 1>::pack(high, Layout::kVectors, 0, block + Layout::kHighBitsAt);
  Fields<4, 1>::pack(fit.scale.k.data(), Layout::kParts, 0, block + Layout::kPartScalesAt);
}

}  // namespace shunt::formats
