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
#include <iterator>
#include <vector>

#include "tensor/formats/iq_codebooks.h"
#include "tensor/formats/lanes.h"
#include "tensor/formats/scale_search.h"

namespace shunt::formats {

template <std::size_t Count, std::size_t Size, std::size_t Levels>
class CodebookSearch {
  static_assert(Size % kLanes == 0 && Levels >= 2);

 public:
  CodebookSearch(const Codebook<Count, Size>& vectors, const std::int8_t (&levels)[Levels],
                 std::size_t neighbours = 24) {
    for (std::size_t i = 0; i + 1 < Levels; ++i) {
      middles_[i] = 0.5f * static_cast<float>(levels[i] + levels[i + 1]);
    }
    std::size_t keys = 1;
    for (float& factor : factors_) {
      factor = static_cast<float>(keys);
      keys *= Levels;
    }
    for (std::size_t v = 0; v < Count; ++v) {
      for (std::size_t i = 0; i < Size; ++i) {
        vectors_[v][i] = static_cast<float>(vectors[v][i]);
      }
    }
    const Halves halves(vectors, levels);
    starts_.reserve(keys + 1);
    for (std::size_t key = 0; key < keys; ++key) add_neighbours(key, neighbours, halves);
    starts_.push_back(static_cast<std::uint32_t>(lists_.size()));
  }

  /// The index of the vector v with the least sum of w (x - v)^2.
  std::size_t nearest(const float* x, const float* w) const {
    std::size_t key = 0;
    for (std::size_t i = 0; i < Size; i += kLanes) {
      const Lanes value = load_lanes(x + i);
      Lanes digit = {};
      for (const float middle : middles_) digit += value > middle ? all_lanes(1.0f) : Lanes{};
      key += static_cast<std::size_t>(sum_lanes(digit * load_lanes(factors_.data() + i)));
    }
    const std::uint16_t* list = lists_.data() + starts_[key];
    const std::uint16_t* end = lists_.data() + starts_[key + 1];
    std::size_t best = *list;
    if (end - list == 1) return best;
    float least = distance(best, x, w);
    while (++list != end) {
      const float here = distance(*list, x, w);
      if (here < least) {
        least = here;
        best = *list;
      }
    }
    return best;
  }

  const std::array<float, Size>& vector(std::size_t index) const { return vectors_[index]; }

  float distance(std::size_t index, const float* x, const float* w) const {
    Lanes sum = {};
    for (std::size_t i = 0; i < Size; i += kLanes) {
      const Lanes off = load_lanes(x + i) - load_lanes(vectors_[index].data() + i);
      sum += load_lanes(w + i) * off * off;
    }
    return sum_lanes(sum);
  }

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
    constexpr std::size_t kFarthest = Size * (Levels - 1) * (Levels - 1);
    const std::uint8_t* low = &halves.apart[key % Halves::kNumbers * Halves::kNumbers];
    const std::uint8_t* high = &halves.apart[key / Halves::kNumbers * Halves::kNumbers];
    std::array<std::uint16_t, Count> distances;
    std::array<std::size_t, kFarthest + 2> places = {};  // first a count of each distance
    for (std::size_t v = 0; v < Count; ++v) {
      const auto& half = halves.of_vector[v];
      distances[v] = static_cast<std::uint16_t>(low[half[0]] + high[half[1]]);
      ++places[distances[v] + std::size_t{1}];
    }
    const std::size_t wanted = places[1] != 0 ? 1 : std::min(neighbours, Count);
    for (std::size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
    starts_.push_back(static_cast<std::uint32_t>(lists_.size()));
    const std::size_t start = lists_.size();
    lists_.resize(start + wanted);
    for (std::size_t v = 0; v < Count; ++v) {
      const std::size_t place = places[distances[v]]++;
      if (place < wanted) lists_[start + place] = static_cast<std::uint16_t>(v);
    }
  }

  std::array<float, Levels - 1> middles_;
  std::array<float, Size> factors_;
  std::array<std::array<float, Size>, Count> vectors_;
  std::vector<std::uint16_t> lists_;
  std::vector<std::uint32_t> starts_;
};

}  // namespace shunt::formats
