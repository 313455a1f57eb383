// Random numbers for weights: each a function of a key and its position, in integers but for the
// last step, so that they are the same on every machine.
#pragma once

#include <cstdint>
#include <span>

namespace shunt {

/// A well-mixed function of 64 bits: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Number `position` of the stream `key`.
constexpr std::uint64_t random_bits(std::uint64_t key, std::uint64_t position) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio
  return mix_bits(key + (position + 1) * kGolden);
}

/// Fills `to` with numbers `first`, `first` + 1, ... of a stream of nearly normal numbers: the sum
/// of four uniform ones, which has mean 0 and standard deviation `deviation`.
void fill_noise(std::span<float> to, std::uint64_t key, std::uint64_t first, float deviation);

}  // namespace shunt
