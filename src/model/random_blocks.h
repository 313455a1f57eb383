// Valid blocks of any type in a moment: for weights of which all that matters is their form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shunt/tensor.h"

namespace shunt {

/// Some blocks of random numbers, encoded once, of which memory of any size is made up: encoding is
/// slow in types that look for the best block.
class RandomBlocks {
 public:
  /// Numbers of that standard deviation and mean 0. `dtype` is a type of weights.
  RandomBlocks(DType dtype, float deviation, std::uint64_t seed);
  /// Fills whole blocks, each one of those, picked by `key` and its position. In memory's order.
  void fill(std::span<std::byte> to, std::uint64_t key) const;

 private:
  std::size_t block_bytes_;
  std::vector<std::byte> blocks_;
};

}  // namespace shunt
