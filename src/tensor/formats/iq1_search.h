// The search for vectors, shifts and scales of the IQ1 formats: value = scale * (v + shift), v a
// vector of the codebook, shift 1/8 or -1/8 for each `ShiftPart` elements, scale for each `Part`.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tensor/formats/block_scale.h"
#include "tensor/formats/codebook_search.h"
#include "tensor/formats/k_blocks.h"
#include "tensor/formats/round.h"

namespace shunt::formats {

inline const auto& iq1_codebook_search() {
  static const CodebookSearch kSearch(kIq1Vectors, kIq1Levels);
  return kSearch;
}

template <std::size_t Part, std::size_t ShiftPart>
class ShiftedVectors {
 public:
  static constexpr std::size_t kSize = 8;
  static constexpr std::size_t kParts = kBlockElements / Part;
  static constexpr std::size_t kVectors = kBlockElements / kSize;

  struct Fit {
    BlockScale<kParts> scale;
    std::array<std::uint16_t, kVectors> index = {};
    std::array<bool, kBlockElements / ShiftPart> negative = {};  ///< whether a shift is
  };

  ShiftedVectors(const float* x, const float* w) : x_(x), w_(w) {}

  Fit fit() const {
    constexpr Scan kScan = {.from = 0.9f, .step = 0.15f, .count = 12};
    constexpr Multiples kMultiples = {.first = 1, .step = 2, .count = 8};
    constexpr int kTries = 4;
    std::array<float, kParts> best;
    for (std::size_t part = 0; part < kParts; ++part) {
      best[part] = best_scale(
          std::fabs(largest(x_ + part * Part, Part)), kScan,
          [&](float scale) { return sums_of(part, scale); }, false);
    }
    Fit fit = {.scale = fit_block_scale(
                   best, kMultiples, kTries,
                   [&](std::size_t part, float scale) { return sums_of(part, scale); })};
    for (std::size_t i = 0; i < fit.negative.size(); ++i) {
      const float scale = fit.scale.d * kMultiples.of(fit.scale.k[i * ShiftPart / Part]);
      const Shifted chosen = best_shift(i, scale);
      fit.negative[i] = chosen.shift < 0;
      std::copy(chosen.index.begin(), chosen.index.end(), fit.index.begin() + i * kShiftVectors);
    }
    return fit;
  }

 private:
  static constexpr std::size_t kShiftVectors = ShiftPart / kSize;

  struct Shifted {
    float shift = 0;
    ScaleSums sums;
    std::array<std::uint16_t, kShiftVectors> index = {};
  };

  /// The nearest vectors of a part that shares a shift.
  Shifted nearest(std::size_t shift_part, float shift, float scale) const {
    const auto& search = iq1_codebook_search();
    const float inverse = scale < kLeastScale ? 0.0f : 1.0f / scale;
    Shifted result = {.shift = shift, .sums = {}};
    Lanes xl = {};
    Lanes ll = {};
    for (std::size_t v = 0; v < kShiftVectors; ++v) {
      const std::size_t at = shift_part * ShiftPart + v * kSize;
      alignas(kLanesAlign) float scaled[kSize];
      for (std::size_t i = 0; i < kSize; ++i) scaled[i] = x_[at + i] * inverse - shift;
      const std::size_t index = search.nearest(scaled, w_ + at);
      result.index[v] = static_cast<std::uint16_t>(index);
      for (std::size_t i = 0; i < kSize; i += kLanes) {
        const Lanes level = load_lanes(search.vector(index).data() + i) + shift;
        const Lanes weighted = load_lanes(w_ + at + i) * level;
        xl += weighted * load_lanes(x_ + at + i);
        ll += weighted * level;
      }
    }
    result.sums = {sum_lanes(xl), sum_lanes(ll)};
    return result;
  }
  Shifted best_shift(std::size_t shift_part, float scale) const {
    const Shifted up = nearest(shift_part, kIq1Shift, scale);
    const Shifted down = nearest(shift_part, -kIq1Shift, scale);
    return down.sums.gain(scale) > up.sums.gain(scale) ? down : up;
  }
  ScaleSums sums_of(std::size_t part, float scale) const {
    ScaleSums sums;
    if (scale < kLeastScale) return sums;
    for (std::size_t i = 0; i < Part / ShiftPart; ++i) {
      const Shifted chosen = best_shift(part * (Part / ShiftPart) + i, scale);
      sums.xl += chosen.sums.xl;
      sums.ll += chosen.sums.ll;
    }
    return sums;
  }

  const float* x_;
  const float* w_;
};

}  // namespace shunt::formats
