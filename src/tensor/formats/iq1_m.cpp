// IQ1_M: 256 elements in 56 bytes. First the lower 8 bits of indices of 11 bits for 32 vectors of 8
// elements of -1, 0 and 1. Then 4 bits for each vector: the upper 3 bits of its index, and one that
// makes its shift negative. Then 4 times 16 bits, each 4 scales s of 3 bits for parts of 16
// elements and 4 bits of the scale d (F16), the lowest 4 first.
// `value = d * (2 * s + 1) * (vector + shift)`, the shift being 1/8 or -1/8.
#include "tensor/formats/blocks.h"
#include "tensor/formats/iq1_search.h"
#include "tensor/formats/iq_codebooks.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {

struct IQ1_M::Layout {
  static constexpr int kVectors = 32;
  static constexpr int kParts = 16;
  static constexpr int kHighBitsAt = 32;
  static constexpr int kScalesAt = 48;
  static constexpr int kScaleWords = 4;
};

void IQ1_M::decode(const std::byte* block, float* values) {
  std::uint16_t words[Layout::kScaleWords];
  unsigned d_bits = 0;
  for (int i = 0; i < Layout::kScaleWords; ++i) {
    words[i] = load_little<std::uint16_t>(block + Layout::kScalesAt + 2 * std::ptrdiff_t{i});
    d_bits |= static_cast<unsigned>(words[i]) >> 12 << 4 * i;
  }
  const float d = f16_to_f32(static_cast<std::uint16_t>(d_bits));
  std::uint8_t high[Layout::kVectors];
  Fields<4, 1>::unpack(block + Layout::kHighBitsAt, Layout::kVectors, high);
  for (int i = 0; i < Layout::kVectors; ++i) {
    const unsigned index = std::to_integer<unsigned>(block[i]) | (high[i] & 7u) << 8;
    const int s = words[i / 8] >> 3 * (i / 2 % 4) & 7;
    const float shift = (high[i] & 8) != 0 ? -kIq1Shift : kIq1Shift;
    write_shifted(kIq1Vectors[index], shift, d * static_cast<float>(2 * s + 1),
                  values + std::ptrdiff_t{i} * 8);
  }
}

void IQ1_M::encode(const float* values, const float* weights, std::byte* block) {
  const auto fit =
      ShiftedVectors<kElements / Layout::kParts, kElements / Layout::kVectors>(values, weights)
          .fit();
  std::uint8_t high[Layout::kVectors];
  for (std::size_t i = 0; i < Layout::kVectors; ++i) {
    block[i] = static_cast<std::byte>(fit.index[i] & 255);
    high[i] = static_cast<std::uint8_t>(fit.index[i] >> 8 | (fit.negative[i] ? 8 : 0));
  }
  Fields<4, 1>::pack(high, Layout::kVectors, 0, block + Layout::kHighBitsAt);
  const unsigned d_bits = finite_f16(fit.scale.d);
  for (std::size_t i = 0; i < Layout::kScaleWords; ++i) {
    unsigned word = (d_bits >> 4 * i & 15) << 12;
    for (std::size_t j = 0; j < 4; ++j)
      word |= static_cast<unsigned>(fit.scale.k[4 * i + j]) << 3 * j;
    store_little(static_cast<std::uint16_t>(word), block + Layout::kScalesAt + 2 * i);
  }
}

}  // namespace shunt::formats
