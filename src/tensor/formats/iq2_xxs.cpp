// IQ2_XXS: 256 elements in 66 bytes: a scale d (F16), then 8 bytes for each part of 32 elements:
// indices of 4 vectors of 8, and 32 bits that are 4 times 7 bits of signs (even_signs) and 4 bits
// of scale s. value = d * (s + 0.5) / 4 * vector, with its sign.
#include "tensor/formats/blocks.h"
#include "tensor/formats/iq_codebooks.h"
#include "tensor/formats/k_blocks.h"

namespace shunt::formats {
namespace {

constexpr int kParts = 8;
constexpr int kVectors = 4;  // of a part
constexpr int kPartBytes = 8;

}  // namespace

void IQ2_XXS::decode(const std::byte* block, float* values) {
  const float d = load_f16(block);
  for (int part = 0; part < kParts; ++part) {
    const std::byte* from = block + 2 + part * kPartBytes;
    const auto bits = load_little<std::uint32_t>(from + 4);
    const float scale = d * (0.5f + static_cast<float>(bits >> 28)) * 0.25f;
    for (int i = 0; i < kVectors; ++i) {
      write_signed(kIq2XxsVectors[std::to_integer<std::size_t>(from[i])], even_signs(bits >> 7 * i),
                   scale, values + (part * kVectors + i) * 8);
    }
  }
}

}  // namespace shunt::formats
