// IQ3_XXS: 256 elements in 98 bytes: a scale d (F16); indices of 64 vectors of 4; for 8 parts of 32
// elements 32 bits that are 4 times 7 bits of signs (even_signs, of 8 elements) and 4 bits of
// scale s. value = d * (s + 0.5) / 2 * vector, with its sign.
#include "tensor/formats/blocks.h"
#include "tensor/formats/iq_codebooks.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {
namespace {

constexpr int kParts = 8;
constexpr int kVectors = 8;  // of a part
constexpr int kIndicesAt = 2;
constexpr int kBitsAt = 66;

}  // namespace

void IQ3_XXS::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  for (int part = 0; part < kParts; ++part) {
    const auto bits = load_little<std::uint32_t>(block + kBitsAt + 4 * part);
    const float scale = d * (0.5f + static_cast<float>(bits >> 28)) * 0.5f;
    for (int i = 0; i < kVectors; ++i) {
      const int vector = part * kVectors + i;
      const unsigned signs = even_signs(bits >> 7 * (i / 2)) >> 4 * (i % 2);
      write_signed(kIq3XxsVectors[std::to_integer<std::size_t>(block[kIndicesAt + vector])], signs,
                   scale, values + vector * 4);
    }
  }
}

}  // namespace shunt::formats
