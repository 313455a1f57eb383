#include "conformance/case_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <random>

#include "graph/tensor_values.h"

namespace shunt {

namespace {

/// Blocks of normally distributed numbers: always the same, made once because that takes long.
const std::vector<std::byte>& sample_blocks(const DTypeTrait& type) {
  constexpr std::int64_t kBlocks = 16;
  static std::mutex mutex;
  static std::map<DType, std::vector<std::byte>> samples;
  const std::lock_guard lock(mutex);
  std::vector<std::byte>& blocks = samples[type.dtype];
  if (blocks.empty()) {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    RefTensor values({kBlocks * type.block_elements, 1, 1, 1});
    for (double& value : values.data) value = normal(random);
    blocks = to_bytes(values, type.dtype);
  }
  return blocks;
}

/// Some of them, `size` bytes in all.
std::vector<std::byte> draw_blocks(const DTypeTrait& type, std::int64_t size, std::uint64_t seed) {
  const std::vector<std::byte>& blocks = sample_blocks(type);
  const std::size_t count = blocks.size() / type.block_bytes;
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  for (std::size_t at = 0; at < bytes.size(); at += type.block_bytes) {
    std::memcpy(&bytes[at], &blocks[random() % count * type.block_bytes], type.block_bytes);
  }
  return bytes;
}

RefTensor fill_values(const CaseSource& source, std::uint64_t seed) {
  RefTensor values(source.sizes);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(source.low, source.high);
  switch (source.fill) {
    case Fill::kNormal:
      for (double& value : values.data) value = normal(random);
      break;
    case Fill::kUniform:
      for (double& value : values.data) value = uniform(random);
      break;
    case Fill::kIndex:
      for (double& value : values.data) value = std::floor(uniform(random));
      break;
    case Fill::kPermutation: {
      std::vector<double> all(static_cast<std::size_t>(source.high - source.low));
      std::iota(all.begin(), all.end(), source.low);
      std::shuffle(all.begin(), all.end(), random);
      for (std::size_t i = 0; i < values.data.size(); ++i) values.data[i] = all.at(i);
      break;
    }
    case Fill::kValues:
      for (std::size_t i = 0; i < values.data.size(); ++i) values.data[i] = source.values.at(i);
      break;
    case Fill::kCausalMask: {
      // Row t sees the last (sizes[0] - sizes[1] + t + 1) columns' worth of the past, and always
      // the first.
      const double minus_infinity = -std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < values.data.size(); ++i) {
        const auto column = static_cast<std::int64_t>(i) % source.sizes[0];
        const auto row = static_cast<std::int64_t>(i) / source.sizes[0] % source.sizes[1];
        values.data[i] =
            column == 0 || column <= source.sizes[0] - source.sizes[1] + row ? 0 : minus_infinity;
      }
      break;
    }
  }
  return values;
}

}  // namespace

RefTensor make_values(const CaseSource& source, std::uint64_t seed) {
  return rounded(fill_values(source, seed), source.dtype);
}

std::vector<std::byte> make_bytes(const CaseSource& source, std::uint64_t seed) {
  const DTypeTrait& type = trait(source.dtype);
  if (type.block_elements > 32 && source.fill == Fill::kNormal) {
    const Sizes& s = source.sizes;
    return draw_blocks(type, byte_span(*make_tensor(source.dtype, {s[0], s[1], s[2], s[3]})), seed);
  }
  return to_bytes(fill_values(source, seed), source.dtype);
}

}  // namespace shunt
