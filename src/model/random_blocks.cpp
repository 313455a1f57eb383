#include "model/random_blocks.h"

#include <algorithm>
#include <cassert>

#include "model/synth_noise.h"

namespace shunt {

namespace {

constexpr std::int64_t kBlocks = 128;

}  // namespace

RandomBlocks::RandomBlocks(DType dtype, float deviation, std::uint64_t seed)
    : block_bytes_(trait(dtype).block_bytes) {
  assert(is_weight_type(dtype));
  const DTypeTrait& type = trait(dtype);
  const std::int64_t count = kBlocks * type.block_elements;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  fill_noise(numbers, seed, 0, deviation);
  blocks_.resize(static_cast<std::size_t>(kBlocks) * block_bytes_);
  if (type.needs_weights()) {
    const std::vector<float> alike(numbers.size(), 1.0F);
    type.encode_weighted(numbers.data(), alike.data(), blocks_.data(), count);
  } else {
    type.encode(numbers.data(), blocks_.data(), count);
  }
}

void RandomBlocks::fill(std::span<std::byte> to, std::uint64_t key) const {
  const std::size_t count = to.size() / block_bytes_;
  for (std::size_t i = 0; i < count; ++i) {
    const auto block = static_cast<std::size_t>(random_bits(key, i) % kBlocks);
    std::copy_n(blocks_.data() + block * block_bytes_, block_bytes_, to.data() + i * block_bytes_);
  }
}

}  // namespace shunt
