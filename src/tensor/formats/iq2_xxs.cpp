// IQ2_XXS: 256 elements in 66 bytes. First a scale d (F16). Then 8 bytes for each part of 32
// elements: indices of 4 vectors of 8, and 32 bits that are 4 times 7 bits of signs (even_signs)
// and 4 bits of scale s.
// `value = d * (s + 0.5) / 4 * vector`, with its sign.
#include "tensor/formats/blocks.h"
#include "tensor/formats/codebook_search.h"
#include "tensor/formats/iq2_search.h"
#include "tensor/formats/iq_codebooks.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {

struct IQ2_XXS::Layout {
  static constexpr int kParts = 8;
  static constexpr int kVectors = 4;  // of a part
  static constexpr int kPartBytes = 8;
};

void IQ2_XXS::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  for (int part = 0; part < Layout::kParts; ++part) {
    const std::byte* from = block + 2 + std::ptrdiff_t{part} * Layout::kPartBytes;
    const auto bits = load_little<std::uint32_t>(from + 4);
    const float scale = d * (0.5f + static_cast<float>(bits >> 28)) * 0.25f;
    for (int i = 0; i < Layout::kVectors; ++i) {
      write_signed(kIq2XxsVectors[std::to_integer<std::size_t>(from[i])], even_signs(bits >> 7 * i),
                   scale, values + std::ptrdiff_t{part * Layout::kVectors + i} * 8);
    }
  }
}

void IQ2_XXS::encode(const float* values, const float* weights, std::byte* block) {
  static const CodebookSearch kSearch(kIq2XxsVectors, kIq2Levels);
  const auto fit = fit_signed_vectors<kElements / Layout::kParts, true>(kSearch, values, weights,
                                                                        kIq2Scan, kIq2Multiples, 4);
  store_f16(fit.scale.d, block);
  for (std::size_t part = 0; part < Layout::kParts; ++part) {
    std::byte* to = block + 2 + part * Layout::kPartBytes;
    for (std::size_t i = 0; i < Layout::kVectors; ++i) {
      to[i] = static_cast<std::byte>(fit.index[part * Layout::kVectors + i]);
    }
    const std::uint32_t bits =
        pack_even_signs(&fit.signs[part * Layout::kVectors], fit.scale.k[part]);
    store_little(bits, to + 4);
  }
}

}  // namespace shunt::formats
