// Q2_K: 256 elements in 84 bytes. First, for 16 parts of 16 elements, a byte each: scale s (low
// half) and minimum m (high half). Then 256 numbers q of 2 bits. Last, scales d and dmin (F16).
// `value = d * s * q - dmin * m`.
#include "tensor/formats/blocks.h"
#include "tensor/formats/k_blocks.h"
#include "tensor/formats/pair_search.h"

namespace shunt::formats {

struct Q2_K::Layout {
  static constexpr int kParts = 16;
  static constexpr int kPart = 16;
  static constexpr int kNumbersAt = 16;
  static constexpr int kScalesAt = 80;
};

void Q2_K::decode(const std::byte* block, float* values) {
  const float d = load_f16(block + Layout::kScalesAt);
  const float dmin = load_f16(block + Layout::kScalesAt + 2);
  std::uint8_t q[kElements];
  Fields<2, 32>::unpack(block + Layout::kNumbersAt, kElements, q);
  for (int part = 0; part < Layout::kParts; ++part) {
    const int pair = std::to_integer<int>(block[part]);
    const float scale = d * static_cast<float>(pair & 15);
    const float minimum = dmin * static_cast<float>(pair >> 4);
    for (int i = part * Layout::kPart; i < (part + 1) * Layout::kPart; ++i) {
      values[i] = scale * static_cast<float>(q[i]) - minimum;
    }
  }
}

void Q2_K::encode(const float* values, const float* weights, std::byte* block) {
  const auto fit = LineBlock<3, Layout::kPart, 15>(values, weights).fit();
  for (int part = 0; part < Layout::kParts; ++part) {
    block[part] = static_cast<std::byte>(fit.scale[part] | fit.minimum[part] << 4);
  }
  Fields<2, 32>::pack(fit.numbers, kElements, 0, block + Layout::kNumbersAt);
  store_f16(fit.d, block + Layout::kScalesAt);
  store_f16(fit.dmin, block + Layout::kScalesAt + 2);
}

}  // namespace shunt::formats
