// IQ3_XXS: 256 elements in 98 bytes. First a scale d (F16), then indices of 64 vectors of 4. Then
// 32 bits for each of 8 parts of 32 elements: 4 times 7 bits of signs (even_signs, of 8 elements)
// and 4 bits of scale s.
// `value = d * (s + 0.5) / 2 * vector`, with its sign.
#include "tensor/formats/blocks.h"
#include "tensor/formats/codebook_search.h"
#include "tensor/formats/iq_codebooks.h"
#include "tensor/formats/k_blocks.h"
#include "tensor/formats/signed_vectors.h"

namespace shunt::formats {

struct IQ3_XXS::Layout {
  static constexpr int kParts = 8;
  static constexpr int kVectors = 8;  // of a part
  static constexpr int kIndicesAt = 2;
  static constexpr int kBitsAt = 66;
};

void IQ3_XXS::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  for (int part = 0; part < Layout::kParts; ++part) {
    const auto bits =
        load_little<std::uint32_t>(block + Layout::kBitsAt + 4 * std::ptrdiff_t{part});
    const float scale = d * (0.5f + static_cast<float>(bits >> 28)) * 0.5f;
    for (int i = 0; i < Layout::kVectors; ++i) {
      const int vector = part * Layout::kVectors + i;
      const unsigned signs = even_signs(bits >> 7 * (i / 2)) >> 4 * (i % 2);
      write_signed(kIq3XxsVectors[std::to_integer<std::size_t>(block[Layout::kIndicesAt + vector])],
                   signs, scale, values + std::ptrdiff_t{vector} * 4);
    }
  }
}

namespace {

template <class Search>
void encode_iq3_xxs(const Search& search, const float* values, const float* weights,
                    std::byte* block) {
  constexpr Scan kScan = {.from = 36.0f, .step = 3.0f, .count = 16, .also = 4.0f};
  constexpr Multiples kMultiples = {.first = 0.25f, .step = 0.5f, .count = 16};
  const auto fit = fit_signed_vectors<IQ3_XXS::kElements / IQ3_XXS::Layout::kParts, true>(
      search, values, weights, kScan, kMultiples, 4);
  store_f16(fit.scale.d, block);
  for (std::size_t i = 0; i < IQ3_XXS::Layout::kParts * IQ3_XXS::Layout::kVectors; ++i) {
    block[IQ3_XXS::Layout::kIndicesAt + i] = static_cast<std::byte>(fit.index[i]);
  }
  for (std::size_t part = 0; part < IQ3_XXS::Layout::kParts; ++part) {
    const std::uint32_t bits = pack_even_signs(&fit.signs[part * 4], fit.scale.k[part]);
    store_little(bits, block + IQ3_XXS::Layout::kBitsAt + 4 * part);
  }
}

}  // namespace

void IQ3_XXS::encode(const float* values, const float* weights, std::byte* block) {
  static const CodebookSearch kSearch(kIq3XxsVectors, kIq3XxsLevels);
  encode_iq3_xxs(kSearch, values, weights, block);
}

}  // namespace shunt::formats
