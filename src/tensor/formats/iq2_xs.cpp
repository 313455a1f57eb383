// IQ2_XS: 256 elements in 74 bytes. First a scale d (F16). Then 16 bits for each of 32 vectors of
// 8: 9 of index and 7 of signs (even_signs). Last, scales s of 4 bits for 16 parts of 16 elements.
// `value = d * (s + 0.5) / 4 * vector`, with its sign.
#include "tensor/formats/blocks.h"
#include "tensor/formats/codebook_search.h"
#include "tensor/formats/iq2_search.h"
#include "tensor/formats/iq_codebooks.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {

struct IQ2_XS::Layout {
  static constexpr int kVectors = 32;
  static constexpr int kParts = 16;
  static constexpr int kVectorsAt = 2;
  static constexpr int kPartScalesAt = 66;
};

void IQ2_XS::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  std::uint8_t scales[Layout::kParts];
  Fields<4, 1>::unpack(block + Layout::kPartScalesAt, Layout::kParts, scales);
  for (int i = 0; i < Layout::kVectors; ++i) {
    const unsigned bits =
        load_little<std::uint16_t>(block + Layout::kVectorsAt + 2 * std::ptrdiff_t{i});
    const int part = i / (Layout::kVectors / Layout::kParts);
    const float scale = d * (0.5f + static_cast<float>(scales[part])) * 0.25f;
    write_signed(kIq2XsVectors[bits & 511], even_signs(bits >> 9), scale,
                 values + std::ptrdiff_t{i} * 8);
  }
}

void IQ2_XS::encode(const float* values, const float* weights, std::byte* block) {
  static const CodebookSearch kSearch(kIq2XsVectors, kIq2Levels);
  const auto fit = fit_signed_vectors<kElements / Layout::kParts, true>(kSearch, values, weights,
                                                                        kIq2Scan, kIq2Multiples, 4);
  store_f16(fit.scale.d, block);
  for (std::size_t i = 0; i < Layout::kVectors; ++i) {
    const int bits = fit.index[i] | (fit.signs[i] & 127) << 9;
    store_little(static_cast<std::uint16_t>(bits), block + Layout::kVectorsAt + 2 * i);
  }
  Fields<4, 1>::pack(fit.scale.k.data(), Layout::kParts, 0, block + Layout::kPartScalesAt);
}

}  // namespace shunt::formats
