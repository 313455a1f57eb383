// The search for the scale of a part of a block: the one that makes the sum of
// weight * (value - scale * level)^2 smallest. For fixed levels that is a problem of least squares,
// whose answer is `scale = sum(w x l) / sum(w l^2)`. It leaves `sum(w x^2) - gain`; the gain is
// `sum(w x l)^2 / sum(w l^2)`. Which levels are nearest changes only at some scales: a scan finds
// the right neighbourhood, and solving in turn for levels and scale the rest.
#pragma once

#include <cmath>
#include <cstdint>
#include <iterator>

#include "tensor/formats/lanes.h"

namespace shunt::formats {

/// Levels are the integers from Low to High; their indices count from Low.
template <int Low, int High>
struct IntegerLevels {
  static Lanes nearest(Lanes scaled) { return round_lanes(clamp_lanes(scaled, Low, High)); }
  static Lanes index(Lanes scaled) { return nearest(scaled) - static_cast<float>(Low); }
};

/// Levels are those of a table, in ascending order.
template <const auto& Table>
struct TableLevels {
  static constexpr int kSteps = static_cast<int>(std::size(Table)) - 1;

  /// Table[0] + how much is added at each step that `scaled` is beyond the middle of.
  template <class Gap>
  static Lanes climb(Lanes scaled, float start, Gap gap) {
    Lanes result = all_lanes(start);
    for (int i = 0; i < kSteps; ++i) {
      const float middle = 0.5f * (Table[i] + Table[i + 1]);
      result += scaled > middle ? all_lanes(gap(i)) : Lanes{};
    }
    return result;
  }
  static Lanes nearest(Lanes scaled) {
    return climb(scaled, Table[0], [](int i) { return Table[i + 1] - Table[i]; });
  }
  static Lanes index(Lanes scaled) {
    return climb(scaled, 0.0f, [](int) { return 1.0f; });
  }
};

/// The sums that least squares needs of the levels l chosen for values x with weights w.
struct ScaleSums {
  float xl = 0;  ///< sum of w x l
  float ll = 0;  ///< sum of w l^2

  /// The amount that a scale takes off the sum of w x^2.
  float gain(float scale) const { return scale * (2 * xl - scale * ll); }
  float best_gain() const { return ll > 0 ? xl * xl / ll : 0; }
  float best_scale() const { return ll > 0 ? xl / ll : 0; }
};

/// Smaller scales are none: no F16 is below 2^-24, and their reciprocals might overflow.
inline constexpr float kLeastScale = 0x1p-40f;

template <class Levels, int N>
ScaleSums sums_at(const float* x, const float* w, float scale) {
  if (std::fabs(scale) < kLeastScale) return {};
  const float inverse = 1.0f / scale;
  Lanes xl = {};
  Lanes ll = {};
  for (int i = 0; i < N; i += kLanes) {
    const Lanes value = load_lanes(x + i);
    const Lanes level = Levels::nearest(value * inverse);
    const Lanes weighted = load_lanes(w + i) * level;
    xl += weighted * value;
    ll += weighted * level;
  }
  return {sum_lanes(xl), sum_lanes(ll)};
}

/// The indices of the nearest levels; of those nearest to 0 if there is no scale.
template <class Levels, int N>
void indices_at(const float* x, float scale, std::uint8_t* indices) {
  const float inverse = std::fabs(scale) < kLeastScale ? 0.0f : 1.0f / scale;
  for (int i = 0; i < N; i += kLanes) {
    const Lanes index = Levels::index(load_lanes(x + i) * inverse);
    for (int lane = 0; lane < kLanes; ++lane) {
      indices[i + lane] = static_cast<std::uint8_t>(index[lane]);
    }
  }
}

/// Scales to try first: those that bring the value of largest magnitude to from, from + step, ...
/// and to their negatives; and to `also`, if that is not 0.
struct Scan {
  float from, step;
  int count;
  float also = 0;
};

/// The best scale of a part; 0 if it is all zero, or nearly.
template <class SumsAt>
float best_scale(float largest, const Scan& scan, SumsAt sums_at_scale, bool both_signs = true) {
  float best_gain = 0;
  float best = 0;
  const auto take = [&](const ScaleSums& sums) {
    if (!(sums.best_gain() > best_gain)) return false;
    best_gain = sums.best_gain();
    best = sums.best_scale();
    return true;
  };
  if (scan.also != 0) take(sums_at_scale(largest / scan.also));
  for (int i = 0; i < scan.count; ++i) {
    const float scale = largest / (scan.from + scan.step * static_cast<float>(i));
    take(sums_at_scale(scale));
    if (both_signs) take(sums_at_scale(-scale));
  }
  constexpr int kTurns = 4;
  for (int i = 0; i < kTurns && take(sums_at_scale(best)); ++i) continue;
  return best;
}

}  // namespace shunt::formats
