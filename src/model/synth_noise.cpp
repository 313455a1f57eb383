#include "model/synth_noise.h"

namespace shunt {

void fill_noise(std::span<float> to, std::uint64_t key, std::uint64_t first, float deviation) {
  // A uniform integer of 16 bits has variance (2^32 - 1) / 12; the sum of four has 4 times that.
  constexpr float kDeviation = 37837.2f;  // its root
  constexpr std::int32_t kMean = 2 * 65535;
  constexpr std::uint64_t kLow = 0x0000ffff0000ffffu;
  const float scale = deviation / kDeviation;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::uint64_t bits = random_bits(key, first + i);
    const std::uint64_t pairs = (bits & kLow) + (bits >> 16 & kLow);
    const auto sum = static_cast<std::int32_t>((pairs & 0xffffffffu) + (pairs >> 32));
    to[i] = static_cast<float>(sum - kMean) * scale;
  }
}

}  // namespace shunt
