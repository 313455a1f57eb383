// The vector of a codebook that is nearest to given values: least sum of w (x - v)^2.
//
// Each value is rounded to a level by itself. If the vector of these levels is in the codebook it
// is the nearest, with any weights. If not, the codebook's vectors nearest to it (unweighted) are
// compared, 24 of them, which finds the nearest of all about 98 times in 100, and one hardly worse
// else. These lists are made when a format is first encoded, and kept: they depend on the codebook
// alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/formats/codebook_vectors.h"

namespace shunt::formats {

template <std::size_t Count, std::size_t Size, std::size_t Levels>
class CodebookSearch {
 public:
  static constexpr std::size_t kSize = Size;

  CodebookSearch(const Codebook<Count, Size>& vectors, const std::int8_t (&levels)[Levels],
                 std::size_t neighbours = kNeighbours)
      : vectors_(vectors, levels) {
    constexpr std::size_t kKeys = CodebookVectors<Count, Size, Levels>::kKeys;
    const Halves halves(vectors, levels);
    starts_.reserve(kKeys + 1);
    for (std::size_t key = 0; key < kKeys; ++key) add_neighbours(key, neighbours, halves);
    starts_.push_back(static_cast<std::uint32_t>(lists_.size()));
  }

  /// The index of the vector v with the least sum of w (x - v)^2.
  std::size_t nearest(const float* x, const float* w) const {
    const std::size_t key = vectors_.key_of(x);
    return vectors_.nearest_of(lists_.data() + starts_[key], starts_[key + 1] - starts_[key], x, w);
  }

  const std::array<float, Size>& vector(std::size_t index) const { return vectors_.vector(index); }

 private:
  /// Both halves of a vector as numbers whose digits are levels, and how far two such numbers are
  /// apart: the sum over digits of difference^2.
  struct Halves {
    static constexpr std::size_t kNumbers = [] {
      std::size_t numbers = 1;
      for (std::size_t i = 0; i < Size / 2; ++i) numbers *= Levels;
      return numbers;
    }();

    std::array<std::array<std::uint8_t, 2>, Count> of_vector;
    std::vector<std::uint8_t> apart = std::vector<std::uint8_t>(kNumbers * kNumbers);

    Halves(const Codebook<Count, Size>& vectors, const std::int8_t (&levels)[Levels]) {
      for (std::size_t v = 0; v < Count; ++v) {
        std::array<std::size_t, 2> numbers = {};
        for (std::size_t i = Size; i-- > 0;) {
          std::size_t& number = numbers[i / (Size / 2)];
          const auto level = std::ranges::find(levels, vectors[v][i]) - levels;
          number = number * Levels + static_cast<std::size_t>(level);
        }
        for (std::size_t i = 0; i < 2; ++i) of_vector[v][i] = static_cast<std::uint8_t>(numbers[i]);
      }
      for (std::size_t a = 0; a < kNumbers; ++a) {
        for (std::size_t b = 0; b < kNumbers; ++b) {
          std::size_t sum = 0;
          for (std::size_t i = 0, x = a, y = b; i < Size / 2; ++i, x /= Levels, y /= Levels) {
            const std::size_t off =
                std::max(x % Levels, y % Levels) - std::min(x % Levels, y % Levels);
            sum += off * off;
          }
          apart[a * kNumbers + b] = static_cast<std::uint8_t>(sum);
        }
      }
    }
  };

  /// Appends the list of a vector of levels: itself if it is in the codebook, else those nearest in
  /// steps of levels, nearest first.
  void add_neighbours(std::size_t key, std::size_t neighbours, const Halves& halves) {
    const std::uint8_t* low = &halves.apart[key % Halves::kNumbers * Halves::kNumbers];
    const std::uint8_t* high = &halves.apart[key / Halves::kNumbers * Halves::kNumbers];
    std::array<std::uint16_t, Count> distances;
    for (std::size_t v = 0; v < Count; ++v) {
      const auto& half = halves.of_vector[v];
      distances[v] = static_cast<std::uint16_t>(low[half[0]] + high[half[1]]);
    }
    starts_.push_back(static_cast<std::uint32_t>(lists_.size()));
    const std::size_t start = lists_.size();
    lists_.resize(start + neighbours);
    lists_.resize(start + list_nearest<Levels, Size>(distances, neighbours, lists_.data() + start));
  }

  CodebookVectors<Count, Size, Levels> vectors_;
  std::vector<std::uint16_t> lists_;
  std::vector<std::uint32_t> starts_;
};

}  // namespace shunt::formats
