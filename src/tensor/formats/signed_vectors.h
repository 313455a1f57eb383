// The search for vectors, signs and scales of the formats that store magnitudes as vectors of a
// codebook and the signs apart: IQ2 and IQ3.
//
// Where only even numbers of negative signs can be stored (of 8 elements), one sign too many is
// stored wrong, at the element where that costs least. Its magnitude counts as negative, and the
// vector is chosen accordingly.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tensor/formats/block_scale.h"
#include "tensor/formats/k_blocks.h"
#include "tensor/formats/round.h"

namespace shunt::formats {

template <std::size_t Parts, std::size_t Vectors>
struct SignedVectorFit {
  BlockScale<Parts> scale;
  std::array<std::uint16_t, Vectors> index = {};
  std::array<std::uint8_t, kBlockElements / 8> signs = {};  ///< of 8 elements: bit i of element i
};

/// `Search`: CodebookSearch, or a type with its nearest(), vector() and kSize.
template <std::size_t Part, bool EvenSigns, class Search>
class SignedVectors {
  static constexpr std::size_t kSize = Search::kSize;

 public:
  static constexpr std::size_t kElements = kBlockElements;
  static constexpr std::size_t kParts = kElements / Part;
  static constexpr std::size_t kVectors = kElements / kSize;
  using Fit = SignedVectorFit<kParts, kVectors>;

  SignedVectors(const Search& search, const float* x, const float* w) : search_(search), w_(w) {
    for (std::size_t i = 0; i < kElements; ++i) {
      x_[i] = std::fabs(x[i]);
      if (x[i] < 0) signs_[i / 8] = static_cast<std::uint8_t>(signs_[i / 8] | 1 << i % 8);
    }
    if constexpr (EvenSigns) make_even();
  }

  Fit fit(const Scan& scan, const Multiples& multiples, int tries) {
    const auto sums = [&](std::size_t part, float scale) { return sums_of(part, scale); };
    std::array<float, kParts> best;
    for (std::size_t part = 0; part < kParts; ++part) {
      best[part] = best_scale(
          std::fabs(largest(x_ + part * Part, Part)), scan,
          [&](float scale) { return sums_of(part, scale); }, false);
    }
    Settled found = settle(fit_block_scale(best, multiples, tries, sums), multiples);
    if (found.ll > 0) {
      // Once more by least squares, now that wrong signs are where they are best.
      BlockScale<kParts> scale = found.fit.scale;
      take_as_f16(static_cast<float>(found.xl / found.ll), [&](float d) {
        scale.d = d;
        const Settled again = settle(scale, multiples);
        if (!(again.gain > found.gain)) return false;
        found = again;
        return true;
      });
    }
    return found.fit;
  }

 private:
  struct Settled {
    Fit fit;
    double gain = 0;
    double xl = 0;  // with the multiples of d as levels
    double ll = 0;
  };

  /// The amounts that a vector that is nearest at a scale adds to the sums.
  ScaleSums add_nearest(std::size_t vector, float inverse, std::size_t* index = nullptr) const {
    const std::size_t at = vector * kSize;
    alignas(kLanesAlign) float scaled[kSize];
    for (std::size_t i = 0; i < kSize; ++i) scaled[i] = x_[at + i] * inverse;
    const std::size_t nearest = search_.nearest(scaled, w_ + at);
    if (index != nullptr) *index = nearest;
    const auto& levels = search_.vector(nearest);
    Lanes xl = {};
    Lanes ll = {};
    for (std::size_t i = 0; i < kSize; i += kLanes) {
      const Lanes level = load_lanes(levels.data() + i);
      const Lanes weighted = load_lanes(w_ + at + i) * level;
      xl += weighted * load_lanes(x_ + at + i);
      ll += weighted * level;
    }
    return {sum_lanes(xl), sum_lanes(ll)};
  }

  ScaleSums sums_of(std::size_t part, float scale) const {
    ScaleSums sums;
    if (scale < kLeastScale) return sums;
    for (std::size_t i = 0; i < Part / kSize; ++i) {
      const ScaleSums added = add_nearest(part * (Part / kSize) + i, 1.0f / scale);
      sums.xl += added.xl;
      sums.ll += added.ll;
    }
    return sums;
  }

  /// Makes the number of negative signs even in each 8 elements. A wrong sign puts the least level
  /// on the other side of zero; which level that is in terms of x is guessed from the part's
  /// largest.
  void make_even() {
    for (std::size_t group = 0; group < kElements / 8; ++group) {
      if (std::popcount(signs_[group]) % 2 == 0) continue;
      const std::size_t first = group * 8;
      const float least = 0.1f * largest(x_ + first / Part * Part, Part);
      std::size_t cheapest = first;
      float cost = -1;
      for (std::size_t i = first; i < first + 8; ++i) {
        const float here = w_[i] * (x_[i] + least) * (x_[i] + least);
        if (cost >= 0 && here >= cost) continue;
        cost = here;
        cheapest = i;
      }
      flip(cheapest);
      wrong_[group] = static_cast<std::uint8_t>(cheapest - first);
    }
  }
  void flip(std::size_t element) {
    x_[element] = -x_[element];
    signs_[element / 8] = static_cast<std::uint8_t>(signs_[element / 8] ^ 1 << element % 8);
  }
  bool has_wrong_sign(std::size_t group) const { return EvenSigns && wrong_[group] != kNone; }

  /// Moves the wrong sign of 8 elements to where it is best at a scale.
  void move_wrong_sign(std::size_t group, float scale) {
    const auto gain_now = [&] {
      float gain = 0;
      for (std::size_t i = 0; i < 8 / kSize; ++i) {
        gain += add_nearest(group * (8 / kSize) + i, 1.0f / scale).gain(scale);
      }
      return gain;
    };
    std::size_t best = wrong_[group];
    float best_gain = gain_now();
    for (std::size_t i = 0; i < 8; ++i) {
      if (i == wrong_[group]) continue;
      flip(group * 8 + wrong_[group]);
      flip(group * 8 + i);
      const float gain = gain_now();
      flip(group * 8 + i);
      flip(group * 8 + wrong_[group]);
      if (!(gain > best_gain)) continue;
      best = i;
      best_gain = gain;
    }
    flip(group * 8 + wrong_[group]);
    flip(group * 8 + best);
    wrong_[group] = static_cast<std::uint8_t>(best);
  }

  /// Signs and vectors for scales that are given.
  Settled settle(const BlockScale<kParts>& scale, const Multiples& multiples) {
    Settled settled;
    settled.fit.scale = scale;
    for (std::size_t group = 0; group < kElements / 8; ++group) {
      const float multiple = multiples.of(scale.k[group * 8 / Part]);
      const float part_scale = scale.d * multiple;
      const float inverse = part_scale < kLeastScale ? 0.0f : 1.0f / part_scale;
      if (inverse > 0 && has_wrong_sign(group)) move_wrong_sign(group, part_scale);
      for (std::size_t i = 0; i < 8 / kSize; ++i) {
        const std::size_t vector = group * (8 / kSize) + i;
        std::size_t index = 0;
        const ScaleSums added = add_nearest(vector, inverse, &index);
        settled.fit.index[vector] = static_cast<std::uint16_t>(index);
        settled.gain += added.gain(part_scale);
        settled.xl += static_cast<double>(added.xl) * multiple;
        settled.ll += static_cast<double>(added.ll) * multiple * multiple;
      }
      settled.fit.signs[group] = signs_[group];
    }
    return settled;
  }

  static constexpr std::uint8_t kNone = 0xff;

  const Search& search_;
  const float* w_;
  alignas(kLanesAlign) float x_[kElements];  // magnitudes; negative where the sign is stored wrong
  std::array<std::uint8_t, kElements / 8> signs_ = {};
  std::array<std::uint8_t, kElements / 8> wrong_ = [] {
    std::array<std::uint8_t, kElements / 8> none;
    none.fill(kNone);
    return none;
  }();
};

/// Part and EvenSigns by name, the rest from the search.
template <std::size_t Part, bool EvenSigns, class Search>
auto fit_signed_vectors(const Search& search, const float* x, const float* w, const Scan& scan,
                        const Multiples& multiples, int tries) {
  return SignedVectors<Part, EvenSigns, Search>(search, x, w).fit(scan, multiples, tries);
}

}  // namespace shunt::formats
