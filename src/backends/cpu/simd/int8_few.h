// How a column lies that is rounded for few columns at once. Chunks of 64 elements: 64 bytes, then
// for each 4 elements the scale of their block and the sum of the 4 times -128; after all chunks
// the sums (times the scale) of each 32 elements, then of each 16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shunt::cpu::simd {

struct FewColumn {
  static constexpr std::size_t kChunk = 64;
  static constexpr std::size_t kScalesAt = 64;
  static constexpr std::size_t kStartAt = 128;
  static constexpr std::size_t kChunkBytes = 192;

  explicit constexpr FewColumn(std::size_t k) : chunks((k + kChunk - 1) / kChunk) {}
  std::size_t chunks = 0;

  constexpr std::size_t sums_at() const { return chunks * kChunkBytes; }
  /// Where sums over `run` elements (32 or 16) start.
  constexpr std::size_t sums_at(std::size_t run) const {
    return sums_at() + (run == 32 ? 0 : chunks * 2 * sizeof(float));
  }
  constexpr std::size_t bytes() const {
    return (sums_at() + chunks * 6 * sizeof(float) + 63) / 64 * 64;
  }
};

}  // namespace shunt::cpu::simd
