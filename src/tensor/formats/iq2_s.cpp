// IQ2_S: 256 elements in 82 bytes: a scale d (F16); for 32 vectors of 8 elements the lower 8 bits
// of an index of 10, then a byte of signs each, then the upper 2 bits of the indices; scales s of 4
// bits for 16 parts of 16 elements. value = d * (s + 0.5) / 4 * vector, with its sign.
#include "tensor/formats/blocks.h"
#include "tensor/formats/iq_codebooks.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {
namespace {

constexpr int kVectors = 32;
constexpr int kParts = 16;
constexpr int kLowBitsAt = 2;
constexpr int kSignsAt = 34;
constexpr int kHighBitsAt = 66;
constexpr int kPartScalesAt = 74;

}  // namespace

void IQ2_S::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  std::uint8_t scales[kParts];
  std::uint8_t high[kVectors];
  Fields<4, 1>::unpack(block + kPartScalesAt, kParts, scales);
  Fields<2, 1>::unpack(block + kHighBitsAt, kVectors, high);
  for (int i = 0; i < kVectors; ++i) {
    const std::size_t index = std::to_integer<std::size_t>(block[kLowBitsAt + i]) |
                              static_cast<std::size_t>(high[i]) << 8;
    const float scale = d * (0.5f + static_cast<float>(scales[i / 2])) * 0.25f;
    write_signed(kIq2SVectors[index], std::to_integer<unsigned>(block[kSignsAt + i]), scale,
                 values + i * 8);
  }
}

}  // namespace shunt::formats
