// A codebook as the search for its nearest vector sees it. Also compiled for devices: no memory is
// allocated here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/formats/iq_codebooks.h"
#include "tensor/formats/lanes.h"

namespace shunt::formats {

/// How many vectors are compared where levels are not a vector of the codebook.
inline constexpr std::size_t kNeighbours = 24;

/// Vectors, as floats, and the places of their levels.
template <std::size_t Count, std::size_t Size, std::size_t Levels>
class CodebookVectors {
  static_assert(Size % kLanes == 0 && Levels >= 2);

 public:
  static constexpr std::size_t kCount = Count;
  static constexpr std::size_t kSize = Size;
  static constexpr std::size_t kLevels = Levels;
  /// The number of vectors of levels. Each has a key below it, whose digits are the levels.
  static constexpr std::size_t kKeys = [] {
    std::size_t keys = 1;
    for (std::size_t i = 0; i < Size; ++i) keys *= Levels;
    return keys;
  }();

  constexpr CodebookVectors(const Codebook<Count, Size>& vectors,
                            const std::int8_t (&levels)[Levels]) {
    for (std::size_t i = 0; i + 1 < Levels; ++i) {
      middles_[i] = 0.5f * static_cast<float>(levels[i] + levels[i + 1]);
    }
    std::size_t factor = 1;
    for (float& each : factors_) {
      each = static_cast<float>(factor);
      factor *= Levels;
    }
    for (std::size_t v = 0; v < Count; ++v) {
      for (std::size_t i = 0; i < Size; ++i) {
        vectors_[v][i] = static_cast<float>(vectors[v][i]);
        while (levels[digits_[v][i]] != vectors[v][i]) ++digits_[v][i];
      }
    }
  }

  const std::array<float, Size>& vector(std::size_t index) const { return vectors_[index]; }

  /// The key of the levels that are nearest to each value.
  std::size_t key_of(const float* x) const {
    std::size_t key = 0;
    for (std::size_t i = 0; i < Size; i += kLanes) {
      const Lanes value = load_lanes(x + i);
      Lanes digit = {};
      for (const float middle : middles_) digit += value > middle ? all_lanes(1.0f) : Lanes{};
      key += static_cast<std::size_t>(sum_lanes(digit * load_lanes(factors_.data() + i)));
    }
    return key;
  }

  /// How far the levels of a key are from a vector, in steps of levels: the sum of squares.
  std::size_t steps_apart(std::size_t key, std::size_t index) const {
    std::size_t sum = 0;
    for (const std::size_t digit : digits_[index]) {
      const std::size_t other = key % Levels;
      const std::size_t off = digit > other ? digit - other : other - digit;
      sum += off * off;
      key /= Levels;
    }
    return sum;
  }

  float distance(std::size_t index, const float* x, const float* w) const {
    Lanes sum = {};
    for (std::size_t i = 0; i < Size; i += kLanes) {
      const Lanes off = load_lanes(x + i) - load_lanes(vectors_[index].data() + i);
      sum += load_lanes(w + i) * off * off;
    }
    return sum_lanes(sum);
  }

  /// The vector of a list, which is not empty, with the least sum of w (x - v)^2.
  std::size_t nearest_of(const std::uint16_t* list, std::size_t count, const float* x,
                         const float* w) const {
    std::size_t best = *list;
    if (count == 1) return best;
    float least = distance(best, x, w);
    for (std::size_t i = 1; i < count; ++i) {
      const float here = distance(list[i], x, w);
      if (here < least) {
        least = here;
        best = list[i];
      }
    }
    return best;
  }

 private:
  std::array<float, Levels - 1> middles_ = {};
  alignas(kLanesAlign) std::array<float, Size> factors_ = {};
  alignas(kLanesAlign) std::array<std::array<float, Size>, Count> vectors_ = {};
  std::array<std::array<std::uint8_t, Size>, Count> digits_ = {};  ///< the levels' numbers
};

/// The list of a vector of levels: the codebook's vectors nearest to it, nearest first, or only
/// itself if it is one of them. `distances` has how far it is from each, in steps of levels: the
/// sum of squares over digits. `list` has room for `neighbours`; the result is how many there are.
template <std::size_t Levels, std::size_t Size, std::size_t Count>
std::size_t list_nearest(const std::array<std::uint16_t, Count>& distances, std::size_t neighbours,
                         std::uint16_t* list) {
  constexpr std::size_t kFarthest = Size * (Levels - 1) * (Levels - 1);
  std::array<std::uint32_t, kFarthest + 2> places = {};  // first a count of each distance
  for (const std::size_t distance : distances) ++places[distance + 1];
  const std::size_t wanted = places[1] != 0 ? 1 : neighbours < Count ? neighbours : Count;
  for (std::size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
  for (std::size_t v = 0; v < Count; ++v) {
    const std::size_t place = places[distances[v]]++;
    if (place < wanted) list[place] = static_cast<std::uint16_t>(v);
  }
  return wanted;
}

}  // namespace shunt::formats
