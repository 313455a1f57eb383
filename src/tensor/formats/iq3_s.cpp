// IQ3_S: 256 elements in 110 bytes. First a scale d (F16). Then, for 64 vectors of 4 elements, the
// lower 8 bits of an index of 9, then the highest bits of the indices. Then 256 signs. Last, scales
// s of 4 bits for 8 parts of 32 elements.
// `value = d * (2 * s + 1) * vector`, with its sign.
#include "tensor/formats/blocks.h"
#include "tensor/formats/codebook_search.h"
#include "tensor/formats/iq_codebooks.h"
#include "tensor/formats/k_blocks.h"
#include "tensor/formats/signed_vectors.h"

namespace shunt::formats {

struct IQ3_S::Layout {
  static constexpr int kVectors = 64;
  static constexpr int kParts = 8;
  static constexpr int kLowBitsAt = 2;
  static constexpr int kHighBitsAt = 66;
  static constexpr int kSignsAt = 74;
  static constexpr int kPartScalesAt = 106;
};

void IQ3_S::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  std::uint8_t scales[Layout::kParts];
  std::uint8_t high[Layout::kVectors];
  std::uint8_t signs[Layout::kVectors];
  Fields<4, 1>::unpack(block + Layout::kPartScalesAt, Layout::kParts, scales);
  Fields<1, 1>::unpack(block + Layout::kHighBitsAt, Layout::kVectors, high);
  Fields<4, 1>::unpack(block + Layout::kSignsAt, Layout::kVectors, signs);
  for (int i = 0; i < Layout::kVectors; ++i) {
    const std::size_t index = std::to_integer<std::size_t>(block[Layout::kLowBitsAt + i]) |
                              static_cast<std::size_t>(high[i]) << 8;
    const int part = i / (Layout::kVectors / Layout::kParts);
    const float scale = d * static_cast<float>(1 + 2 * scales[part]);
    write_signed(kIq3SVectors[index], signs[i], scale, values + std::ptrdiff_t{i} * 4);
  }
}

namespace {

template <class Search>
void encode_iq3_s(const Search& search, const float* values, const float* weights,
                  std::byte* block) {
  constexpr Scan kScan = {.from = 9.0f, .step = 0.75f, .count = 16, .also = 1.0f};
  constexpr Multiples kMultiples = {.first = 1, .step = 2, .count = 16};
  const auto fit = fit_signed_vectors<IQ3_S::kElements / IQ3_S::Layout::kParts, false>(
      search, values, weights, kScan, kMultiples, 4);
  std::uint8_t high[IQ3_S::Layout::kVectors];
  for (std::size_t i = 0; i < IQ3_S::Layout::kVectors; ++i) {
    block[IQ3_S::Layout::kLowBitsAt + i] = static_cast<std::byte>(fit.index[i] & 255);
    high[i] = static_cast<std::uint8_t>(fit.index[i] >> 8);
  }
  store_f16(fit.scale.d, block);
  Fields<1, 1>::pack(high, IQ3_S::Layout::kVectors, 0, block + IQ3_S::Layout::kHighBitsAt);
  for (std::size_t i = 0; i < fit.signs.size(); ++i) {
    block[IQ3_S::Layout::kSignsAt + i] = static_cast<std::byte>(fit.signs[i]);
  }
  Fields<4, 1>::pack(fit.scale.k.data(), IQ3_S::Layout::kParts, 0,
                     block + IQ3_S::Layout::kPartScalesAt);
}

}  // namespace

void IQ3_S::encode(const float* values, const float* weights, std::byte* block) {
  static const CodebookSearch kSearch(kIq3SVectors, kIq3SLevels);
  encode_iq3_s(kSearch, values, weights, block);
}

}  // namespace shunt::formats
