// The search for scale and minimum of parts of a block, value = scale * q - minimum with q from 0
// to Top: those that make the sum of weight * error^2 smallest. For fixed q that is a line through
// points, by least squares. A scan over scales and offsets around those that the extremes ask for
// gives the q to start from; then q and line are solved for in turn. Formats whose minimums have no
// sign need `AnySign` to be false.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tensor/formats/block_scale.h"
#include "tensor/formats/lanes.h"
#include "tensor/formats/round.h"
#include "tensor/formats/scale_search.h"

namespace shunt::formats {

/// Scale and minimum of a part.
struct Line {
  float scale = 0;
  float minimum = 0;
};

/// The sums that least squares needs of the q chosen for values x with weights w.
struct LineSums {
  float q = 0;   ///< sum of w q
  float qq = 0;  ///< sum of w q^2
  float xq = 0;  ///< sum of w x q
};

/// A part's values, counted from the smallest one so that sums don't lose numbers that are small
/// relative to it.
template <int Top, int N, bool AnySign = false>
class LinePart {
 public:
  LinePart() = default;
  LinePart(const float* x, const float* w) : w_(w) {
    const Range extremes = range(x, N);
    low_ = extremes.low;
    range_ = extremes.high - extremes.low;
    for (int i = 0; i < N; ++i) {
      x_[i] = x[i] - low_;
      sum_w_ += w[i];
      sum_x_ += w[i] * x_[i];
      sum_xx_ += w[i] * x_[i] * x_[i];
    }
  }

  /// Sum of w, and of w x, x as it was given.
  double sum_w() const { return sum_w_; }
  double sum_x() const { return sum_x_ + static_cast<double>(sum_w_) * low_; }
  double sum_xq(const LineSums& sums) const { return sums.xq + static_cast<double>(sums.q) * low_; }

  /// For the q that suit the line.
  LineSums sums(const Line& line) const {
    if (line.scale < kLeastScale) return {};
    const float inverse = 1.0f / line.scale;
    const float shift = line.minimum + low_;
    Lanes q = {};
    Lanes qq = {};
    Lanes xq = {};
    for (int i = 0; i < N; i += kLanes) {
      const Lanes x = load_lanes(x_ + i);
      const Lanes number = round_lanes(clamp_lanes((x + shift) * inverse, 0, Top));
      const Lanes weighted = load_lanes(w_ + i) * number;
      q += weighted;
      qq += weighted * number;
      xq += weighted * x;
    }
    return {sum_lanes(q), sum_lanes(qq), sum_lanes(xq)};
  }
  void numbers(const Line& line, std::uint8_t* to) const {
    const float inverse = line.scale < kLeastScale ? 0.0f : 1.0f / line.scale;
    const float shift = line.minimum + low_;
    for (int i = 0; i < N; i += kLanes) {
      const Lanes number = round_lanes(clamp_lanes((load_lanes(x_ + i) + shift) * inverse, 0, Top));
      for (int lane = 0; lane < kLanes; ++lane) {
        to[i + lane] = static_cast<std::uint8_t>(number[lane]);
      }
    }
  }

  /// Sum of w (x - scale q + minimum)^2.
  float error(const LineSums& sums, const Line& line) const {
    const float shift = line.minimum + low_;
    const float s = line.scale;
    return sum_xx_ + s * (s * sums.qq - 2 * (sums.xq + shift * sums.q)) +
           shift * (2 * sum_x_ + shift * sum_w_);
  }

  /// The minimum of least squares for the q that `sums` are of, and a scale.
  float best_minimum(const LineSums& sums, float scale) const {
    return (scale * sums.q - sum_x_) / sum_w_ - low_;
  }

  /// The line of least squares for the q that `sums` are of; false if there is none.
  bool solve(const LineSums& sums, Line& line) const {
    const float spread = sum_w_ * sums.qq - sums.q * sums.q;
    if (spread > 1e-6f * sum_w_ * sums.qq) {
      line.scale = (sum_w_ * sums.xq - sum_x_ * sums.q) / spread;
      line.minimum = best_minimum(sums, line.scale);
      if (AnySign || line.minimum >= 0) return line.scale >= kLeastScale;
    }
    if (!(sums.qq > 0)) return false;
    line.scale = (sums.xq + low_ * sums.q) / sums.qq;
    line.minimum = 0;
    return line.scale >= kLeastScale;
  }

  Line best() const {
    const float mean = sum_w_ > 0 ? sum_x_ / sum_w_ + low_ : 0;
    Line best = {.scale = 0, .minimum = allowed(-mean)};
    // One value alone: the scale expresses the part that the minimum can't.
    if (range_ < kLeastScale) return {(mean + best.minimum) / Top, best.minimum};
    float best_error = error({}, best);
    constexpr int kScales = 6;
    constexpr int kOffsets = 4;
    constexpr int kTurns = 3;
    for (int i = 0; i < kScales; ++i) {
      const float steps = static_cast<float>(Top) + 0.5f * static_cast<float>(i) - 1.0f;
      for (int j = 0; j < kOffsets; ++j) {
        // The range that the q don't reach is shared between both ends, and moved by up to half a
        // step.
        Line line = {.scale = range_ / steps, .minimum = 0};
        const float beyond = 0.5f * (range_ - line.scale * static_cast<float>(Top));
        const float moved = line.scale * (0.25f * static_cast<float>(j) - 0.375f);
        line.minimum = allowed(moved - beyond - low_);
        for (int turn = 0; turn < kTurns; ++turn) {
          const LineSums here = sums(line);
          if (!solve(here, line)) break;
          const float left = error(here, line);
          if (left < best_error) {
            best = line;
            best_error = left;
          }
        }
      }
    }
    return best;
  }

 private:
  static float allowed(float minimum) { return AnySign ? minimum : std::max(0.0f, minimum); }

  alignas(kLanesAlign) float x_[static_cast<std::size_t>(N)];
  const float* w_ = nullptr;
  float low_ = 0;
  float range_ = 0;
  float sum_w_ = 0;
  float sum_x_ = 0;
  float sum_xx_ = 0;
};

/// A block of one line: that line, as F16 holds it, and the q that suit it.
template <int Top, int N>
Line fit_line(const float* x, const float* w, std::uint8_t* numbers) {
  const LinePart<Top, N, true> part(x, w);
  const Line best = part.best();
  Line found;
  float least = part.error({}, found);
  const auto take = [&](const Line& line) {
    const float error = part.error(part.sums(line), line);
    if (!(error < least)) return false;
    found = line;
    least = error;
    return true;
  };
  take_as_f16(best.scale, [&](float scale) {
    const float suited = part.best_minimum(part.sums({scale, best.minimum}), scale);
    return take_as_f16(suited, [&](float minimum) { return take({scale, minimum}); });
  });
  part.numbers(found, numbers);
  return found;
}

/// A block of parts whose scales and minimums are d and dmin times integers from 0 to Most.
template <int Top, int Part, int Most>
class LineBlock {
 public:
  static constexpr int kElements = 256;
  static constexpr std::size_t kParts = kElements / Part;

  struct Fit {
    float d = 0;  ///< both as F16 holds them
    float dmin = 0;
    std::uint8_t scale[kParts] = {};
    std::uint8_t minimum[kParts] = {};
    std::uint8_t numbers[kElements] = {};
  };

  LineBlock(const float* x, const float* w) {
    for (std::size_t i = 0; i < kParts; ++i) {
      parts_[i] = LinePart<Top, Part>(x + i * Part, w + i * Part);
      best_[i] = parts_[i].best();
    }
  }

  Fit fit() const {
    Line largest;
    for (const Line& line : best_) {
      largest.scale = std::max(largest.scale, line.scale);
      largest.minimum = std::max(largest.minimum, line.minimum);
    }
    // First the scales that bring the largest to Most and somewhat below, in all pairs; then, as
    // long as it gets better, those of least squares for the integers and numbers that came out.
    Tried found = at(0, 0);
    const auto take = [&](float scale, float minimum) {
      return take_as_f16(scale, [&](float d) {
        return take_as_f16(minimum, [&](float dmin) {
          const Tried tried = at(d, dmin);
          if (!(tried.error < found.error)) return false;
          found = tried;
          return true;
        });
      });
    };
    constexpr int kTries = 3;
    constexpr float kStep = Most / 32.0f;
    for (int i = 0; i < kTries; ++i) {
      for (int j = 0; j < kTries; ++j) {
        take(largest.scale / (Most - kStep * static_cast<float>(i)),
             largest.minimum / (Most - kStep * static_cast<float>(j)));
      }
    }
    constexpr int kTurns = 6;
    for (int i = 0; i < kTurns; ++i) {
      float d = 0;
      float dmin = 0;
      if (!solve(found, d, dmin) || !take(d, dmin)) break;
    }
    Fit result = {.d = found.d, .dmin = found.dmin};
    for (std::size_t i = 0; i < kParts; ++i) {
      const Chosen& chosen = found.parts[i];
      result.scale[i] = static_cast<std::uint8_t>(chosen.scale);
      result.minimum[i] = static_cast<std::uint8_t>(chosen.minimum);
      parts_[i].numbers(line(found.d, found.dmin, chosen), result.numbers + i * Part);
    }
    return result;
  }

 private:
  struct Chosen {
    int scale = 0;
    int minimum = 0;
    LineSums sums;
    float error = 0;
  };
  struct Tried {
    float d = 0;
    float dmin = 0;
    double error = 0;
    std::array<Chosen, kParts> parts;
  };

  static Line line(float d, float dmin, const Chosen& chosen) {
    return {d * static_cast<float>(chosen.scale), dmin * static_cast<float>(chosen.minimum)};
  }

  /// The best integers of a part: the four around its own best line, then downhill from neighbour
  /// to neighbour.
  Chosen choose(std::size_t part, float d, float dmin) const {
    const auto below = [](float value, float unit) {
      return unit > 0 ? static_cast<int>(std::min(value / unit, static_cast<float>(Most))) : 0;
    };
    const int scale = below(best_[part].scale, d);
    const int minimum = below(best_[part].minimum, dmin);
    Chosen best = evaluate(part, d, dmin, scale, minimum);
    const auto take = [&](int s, int m) {
      if (s < 0 || s > Most || m < 0 || m > Most) return;
      const Chosen chosen = evaluate(part, d, dmin, s, m);
      if (chosen.error < best.error) best = chosen;
    };
    take(scale + 1, minimum);
    take(scale, minimum + 1);
    take(scale + 1, minimum + 1);
    constexpr int kTurns = 6;
    for (int turn = 0; turn < kTurns; ++turn) {
      const Chosen from = best;
      take(from.scale - 1, from.minimum);
      take(from.scale + 1, from.minimum);
      take(from.scale, from.minimum - 1);
      take(from.scale, from.minimum + 1);
      if (best.scale == from.scale && best.minimum == from.minimum) break;
    }
    return best;
  }
  Chosen evaluate(std::size_t part, float d, float dmin, int scale, int minimum) const {
    Chosen chosen = {.scale = scale, .minimum = minimum, .sums = {}};
    const Line at_line = line(d, dmin, chosen);
    chosen.sums = parts_[part].sums(at_line);
    chosen.error = parts_[part].error(chosen.sums, at_line);
    return chosen;
  }
  Tried at(float d, float dmin) const {
    Tried tried = {.d = d, .dmin = dmin, .parts = {}};
    for (std::size_t i = 0; i < kParts; ++i) {
      tried.parts[i] = choose(i, d, dmin);
      tried.error += tried.parts[i].error;
    }
    return tried;
  }

  /// d and dmin by least squares, all else fixed: sums over all elements of w times products of
  /// a = scale * q, b = minimum, and x.
  bool solve(const Tried& tried, float& d, float& dmin) const {
    double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;
    for (std::size_t i = 0; i < kParts; ++i) {
      const Chosen& chosen = tried.parts[i];
      const double s = chosen.scale;
      const double m = chosen.minimum;
      aa += s * s * chosen.sums.qq;
      ab += s * m * chosen.sums.q;
      bb += m * m * parts_[i].sum_w();
      ax += s * parts_[i].sum_xq(chosen.sums);
      bx += m * parts_[i].sum_x();
    }
    const double spread = aa * bb - ab * ab;
    if (spread > 1e-9 * aa * bb) {
      d = static_cast<float>((ax * bb - bx * ab) / spread);
      dmin = static_cast<float>((ax * ab - bx * aa) / spread);
    } else if (aa > 0) {
      d = static_cast<float>(ax / aa);
      dmin = 0;
    } else if (bb > 0) {
      d = tried.d;
      dmin = static_cast<float>(-bx / bb);
    }
    return d >= 0 && dmin >= 0;
  }

  std::array<LinePart<Top, Part>, kParts> parts_;
  std::array<Line, kParts> best_;
};

}  // namespace shunt::formats
