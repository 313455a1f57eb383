// Q5_K: 256 elements in 176 bytes. First scales d and dmin (F16). Then, for 8 parts of 32 elements,
// scale s and minimum m of 6 bits (SixBitPairs). Last, the highest bits of 256 numbers q, then
// their lower 4 bits.
// `value = d * s * q - dmin * m`.
#include "tensor/formats/blocks.h"
#include "tensor/formats/k_blocks.h"
#include "tensor/formats/pair_search.h"

namespace shunt::formats {

struct Q5_K::Layout {
  static constexpr int kPart = 32;
  static constexpr int kPairsAt = 4;
  static constexpr int kHighBitsAt = 16;
  static constexpr int kNumbersAt = 48;
};

void Q5_K::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  const float dmin = load_f16(block + 2);
  const SixBitPairs pairs = SixBitPairs::load(block + Layout::kPairsAt);
  std::uint8_t q[kElements];
  Fields<4, 32>::unpack(block + Layout::kNumbersAt, kElements, q);
  Fields<1, 32>::unpack_above(block + Layout::kHighBitsAt, kElements, 4, q);
  for (int part = 0; part < SixBitPairs::kParts; ++part) {
    const float scale = d * static_cast<float>(pairs.scale[part]);
    const float minimum = dmin * static_cast<float>(pairs.minimum[part]);
    for (int i = part * Layout::kPart; i < (part + 1) * Layout::kPart; ++i) {
      values[i] = scale * static_cast<float>(q[i]) - minimum;
    }
  }
}

void Q5_K::encode(const float* values, const float* weights, std::byte* block) {
  const auto fit = LineBlock<31, Layout::kPart, 63>(values, weights).fit();
  store_f16(fit.d, block);
  store_f16(fit.dmin, block + 2);
  SixBitPairs::store(fit.scale, fit.minimum, block + Layout::kPairsAt);
  Fields<1, 32>::pack(fit.numbers, kElements, 4, block + Layout::kHighBitsAt);
  Fields<4, 32>::pack(fit.numbers, kElements, 0, block + Layout::kNumbersAt);
}

}  // namespace shunt::formats
