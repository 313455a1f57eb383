// The search for the scale of a whole block, where parts have scales of a few bits that are
// multiples of it. The parts' own best scales come first (scale_search.h). Then the block's scale
// is tried at values that bring the largest of them to about the largest multiple. Each part takes
// the better of the two multiples around its own best, with the numbers that suit it. At last the
// block's scale is solved for by least squares with all that fixed, in turn with the choice of
// multiples, as long as it gets better. Only the scale as it is stored counts: the cost of its
// rounding is part of every comparison, the one with a block of zeros included.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tensor/formats/bits.h"
#include "tensor/formats/round.h"
#include "tensor/formats/scale_search.h"

namespace shunt::formats {

/// A part's scale is d * (first + step * k), k from 0 to count - 1.
struct Multiples {
  float first, step;
  int count;

  float of(int k) const { return first + step * static_cast<float>(k); }
  int below(float multiple) const {
    const float k = std::floor((multiple - first) / step);
    return static_cast<int>(std::clamp(k, 0.0f, static_cast<float>(count - 1)));
  }
};

template <std::size_t Parts>
struct BlockScale {
  float d = 0;  ///< as an F16 holds it
  std::array<std::uint8_t, Parts> k = {};
};

/// Calls take(scale) with the F16 nearest to a scale. Where F16s are so far apart that it matters
/// on which side (subnormal ones, below 32 times the least), calls it with both neighbours. Returns
/// whether a call was true.
template <class Take>
bool take_as_f16(float scale, Take take) {
  constexpr float kLeastF16 = 0x1p-24f;
  if (std::fabs(scale) >= 32 * kLeastF16) return take(f16_to_f32(finite_f16(scale)));
  const float inner = std::trunc(scale / kLeastF16) * kLeastF16;
  const bool taken = take(inner);
  return (inner != scale && take(inner + std::copysign(kLeastF16, scale))) || taken;
}

/// A scale of a block that was tried, with the best multiples of its parts.
template <std::size_t Parts>
struct TriedBlockScale {
  BlockScale<Parts> scale;
  double gain = 0;
  double xl = 0;  // with the multiples as levels
  double ll = 0;
};

/// Adds the multiple of a tried scale that suits a part best; `best` is the scale that this part
/// wants.
template <std::size_t Parts, class Sums>
void choose_multiple(TriedBlockScale<Parts>& tried, std::size_t part, float best,
                     const Multiples& multiples, const Sums& sums) {
  const int last = multiples.count - 1;
  ScaleSums chosen;
  float chosen_gain = 0;
  int chosen_k = -1;
  const auto take = [&](int k) {
    const float scale = tried.scale.d * multiples.of(k);
    const ScaleSums here = sums(part, scale);
    if (chosen_k >= 0 && !(here.gain(scale) > chosen_gain)) return;
    chosen = here;
    chosen_gain = here.gain(scale);
    chosen_k = k;
  };
  const float wanted = best / tried.scale.d;
  const int below = multiples.below(wanted);
  take(below);
  if (below < last) take(below + 1);
  // Where a scale is out of reach, that of the other sign may have numbers that go farther.
  if (multiples.first < 0 && wanted < multiples.first) take(last);
  if (multiples.first < 0 && wanted > multiples.of(last)) take(0);
  const double multiple = multiples.of(chosen_k);
  tried.scale.k[part] = static_cast<std::uint8_t>(chosen_k);
  tried.gain += chosen_gain;
  tried.xl += chosen.xl * multiple;
  tried.ll += chosen.ll * multiple * multiple;
}

/// `sums(part, scale)` gives the sums of a part with the numbers that suit the scale. `tries`
/// scales are tried for each end that the multiples have.
template <std::size_t Parts, class Sums>
BlockScale<Parts> fit_block_scale(const std::array<float, Parts>& best, const Multiples& multiples,
                                  int tries, Sums sums) {
  using Tried = TriedBlockScale<Parts>;
  const auto at = [&](float d) {
    Tried tried = {.scale = {.d = d, .k = {}}};
    for (std::size_t part = 0; part < Parts; ++part) {
      choose_multiple(tried, part, best[part], multiples, sums);
    }
    return tried;
  };

  const float farthest = largest(best.data(), Parts);
  if (farthest == 0) return {};
  Tried found;
  const auto take = [&](float scale) {
    return take_as_f16(scale, [&](float d) {
      if (d == 0) return false;
      const Tried tried = at(d);
      if (!(tried.gain > found.gain)) return false;
      found = tried;
      return true;
    });
  };
  const float high = multiples.of(multiples.count - 1);
  for (int i = 0; i < tries; ++i) {
    const float beyond = multiples.step * (0.5f - 0.25f * static_cast<float>(i));
    take(farthest / (high + beyond));
    if (multiples.first < 0) take(farthest / (multiples.first - beyond));
  }
  constexpr int kTurns = 4;
  for (int i = 0; i < kTurns && found.ll > 0; ++i) {
    if (!take(static_cast<float>(found.xl / found.ll))) break;
  }
  return found.scale;
}

/// A block of one scale: that scale, as F16 holds it, and the indices that suit it.
template <class Levels, int N>
float fit_scale(const float* x, const float* w, const Scan& scan, std::uint8_t* indices) {
  const auto sums = [&](float scale) { return sums_at<Levels, N>(x, w, scale); };
  const float best = best_scale(largest(x, N), scan, sums);
  float d = 0;
  float most = 0;
  for (const float scale : {best, -best}) {
    take_as_f16(scale, [&](float stored) {
      const float gain = sums(stored).gain(stored);
      if (!(gain > most)) return false;
      d = stored;
      most = gain;
      return true;
    });
  }
  indices_at<Levels, N>(x, d, indices);
  return d;
}

/// A block of parts with scales, and the indices that suit these.
template <class Levels, int Part>
struct ScaledBlock {
  static constexpr int kElements = 256;
  static constexpr std::size_t kParts = kElements / Part;
  BlockScale<kParts> scale;
  std::uint8_t indices[kElements];

  static ScaledBlock fit(const float* x, const float* w, const Scan& scan,
                         const Multiples& multiples, int tries) {
    const auto sums = [&](std::size_t part, float scale) {
      return sums_at<Levels, Part>(x + part * Part, w + part * Part, scale);
    };
    std::array<float, kParts> best;
    for (std::size_t part = 0; part < kParts; ++part) {
      best[part] = best_scale(largest(x + part * Part, Part), scan,
                              [&](float scale) { return sums(part, scale); });
    }
    ScaledBlock block = {.scale = fit_block_scale(best, multiples, tries, sums), .indices = {}};
    for (std::size_t part = 0; part < kParts; ++part) {
      indices_at<Levels, Part>(x + part * Part, block.scale.d * multiples.of(block.scale.k[part]),
                               block.indices + part * Part);
    }
    return block;
  }
};

}  // namespace shunt::formats
