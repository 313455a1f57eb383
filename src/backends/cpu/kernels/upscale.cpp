#include <cmath>

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/data.h"

namespace shunt::cpu {

namespace {

double cubic(double d, double a) {
  d = std::fabs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d <= 2) return ((d - 5) * d + 8) * d * a - 4 * a;
  return 0;
}

/// One dimension, from n elements to m: element i is the sum of `most` weights at most, each times
/// an element from first(i) on, one after the other.
class Axis {
 public:
  Axis(const UpscaleParams& params, std::int64_t n, std::int64_t m)
      : how_(params.interpolation), antialias_(params.antialias), n_(n), m_(m) {
    const auto real = [](std::int64_t value) { return static_cast<double>(value); };
    shift_ = params.align_corners ? 0 : 0.5;
    scale_ = real(n) / real(m);
    if (params.align_corners) scale_ = m > 1 ? real(n - 1) / real(m - 1) : 0;
  }

  std::int64_t most() const {
    constexpr std::array<std::int64_t, 3> kMost = {1, 2, 4};
    const double wide = antialias_ ? 2 * reach() + 2 : 0;
    return std::min(n_, std::max(kMost[static_cast<std::size_t>(how_)],
                                 static_cast<std::int64_t>(std::ceil(wide))));
  }

  /// Writes the weights of element i (the rest of `most` stays) and returns the elements that they
  /// belong to.
  struct Run {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  Run find(std::int64_t i, float* weights) const {
    if (how_ == Interpolation::kNearest) {
      weights[0] = 1;
      return {i * n_ / m_, 1};
    }
    return antialias_ ? filter(i, weights) : interpolate(i, weights);
  }

 private:
  bool bilinear() const { return how_ == Interpolation::kBilinear; }
  /// How far from its middle a filter sees.
  double reach() const { return (bilinear() ? 1 : 2) * std::max(scale_, 1.0); }

  Run filter(std::int64_t i, float* weights) const {
    const double center = scale_ * (static_cast<double>(i) + 0.5);
    const double width = std::max(scale_, 1.0);
    const auto low = static_cast<std::int64_t>(std::floor(center - reach() + 0.5));
    const auto high = static_cast<std::int64_t>(std::floor(center + reach() + 0.5));
    const std::int64_t first = std::max<std::int64_t>(low, 0);
    const std::int64_t count = std::min(high, n_) - first;
    const auto weight = [&](std::int64_t j) {
      const double d = (static_cast<double>(first + j) - center + 0.5) / width;
      return bilinear() ? std::max(0.0, 1 - std::fabs(d)) : cubic(d, -0.5);
    };
    double total = 0;
    for (std::int64_t j = 0; j < count; ++j) total += weight(j);
    for (std::int64_t j = 0; j < count; ++j) weights[j] = static_cast<float>(weight(j) / total);
    return {first, count};
  }

  Run interpolate(std::int64_t i, float* weights) const {
    double place = (static_cast<double>(i) + shift_) * scale_ - shift_;
    if (bilinear()) place = std::max(place, 0.0);
    const auto floor = static_cast<std::int64_t>(std::floor(place));
    const std::int64_t low = floor - (bilinear() ? 0 : 1);
    const std::int64_t high = floor + (bilinear() ? 1 : 2);
    const auto inside = [&](std::int64_t j) { return std::clamp<std::int64_t>(j, 0, n_ - 1); };
    const Run run = {inside(low), inside(high) - inside(low) + 1};
    std::array<double, 4> sums = {};
    // The outermost elements replace those outside.
    for (std::int64_t j = low; j <= high; ++j) {
      const double d = place - static_cast<double>(j);
      sums[static_cast<std::size_t>(inside(j) - run.first)] +=
          bilinear() ? 1 - std::fabs(d) : cubic(d, -0.75);
    }
    for (std::size_t j = 0; j < static_cast<std::size_t>(run.count); ++j) {
      weights[j] = static_cast<float>(sums[j]);
    }
    return run;
  }

  Interpolation how_;
  bool antialias_;
  std::int64_t n_, m_;
  double scale_ = 1;
  double shift_ = 0;
};

/// The runs and weights of an axis, for all its elements, in scratch.
struct Taps {
  Axis::Run* runs;
  float* weights;
  std::int64_t stride;

  static std::size_t bytes(const Axis& axis, std::int64_t m) {
    return static_cast<std::size_t>(m) *
           (sizeof(Axis::Run) + static_cast<std::size_t>(axis.most()) * sizeof(float));
  }
  Taps(const Axis& axis, std::int64_t m, std::byte* data)
      : runs(reinterpret_cast<Axis::Run*>(data)),
        weights(reinterpret_cast<float*>(data + static_cast<std::size_t>(m) * sizeof(Axis::Run))),
        stride(axis.most()) {}
  const float* of(std::int64_t i) const { return weights + i * stride; }
};

std::size_t round_up_8(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

/// First the weights of all columns and rows; then, row by row of the result, rows of x are added
/// up, and columns of that.
class Upscale final : public AnyCaseKernel {
 public:
  const Op& op() const override { return upscale_op(); }
  int phases() const override { return 2; }
  std::int64_t items(const Call& call, int phase) const override {
    return phase == 0 ? call.result.sizes[0] + call.result.sizes[1] : call.result.rows();
  }
  std::int64_t grain(const Call& call, int phase) const override {
    return grain_for(phase == 0 ? 8 : call.result.sizes[0] + call.sources[0].sizes[0]);
  }
  std::size_t scratch(const NodeView& node, const CpuTarget&) const override {
    const auto& params = node.params<UpscaleParams>();
    const Axis columns(params, node.source(0).size(0), params.width);
    const Axis rows(params, node.source(0).size(1), params.height);
    return round_up_8(Taps::bytes(columns, params.width)) + Taps::bytes(rows, params.height);
  }
  /// Two rows of x, and one of the result.
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return 2 * static_cast<std::size_t>(node.source(0).size(0)) * sizeof(float) +
           compute_f32_bytes(node.result(), node.result().size(0));
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto& params = call.params->get<UpscaleParams>();
    const TensorArg& x = call.sources[0];
    const TensorArg& y = call.result;
    const Axis column_axis(params, x.sizes[0], params.width);
    const Axis row_axis(params, x.sizes[1], params.height);
    const Taps columns(column_axis, params.width, call.scratch);
    const Taps rows(row_axis, params.height,
                    call.scratch + round_up_8(Taps::bytes(column_axis, params.width)));
    if (phase == 0) {
      for (std::int64_t item = begin; item < end; ++item) {
        const bool is_column = item < params.width;
        const Taps& taps = is_column ? columns : rows;
        const std::int64_t i = is_column ? item : item - params.width;
        taps.runs[i] = (is_column ? column_axis : row_axis).find(i, taps.weights + i * taps.stride);
      }
      return Fault::kNone;
    }
    float* sum = as_f32(scratch);
    float* room = sum + 2 * x.sizes[0];
    for_each_row(y.sizes, begin, end, [&](const RowIndex& at) {
      const float* from = add_rows(x, at, rows.runs[at.i1], rows.of(at.i1), sum);
      compute_f32(y, row_data(y, at), 0, params.width, room, [&](float* to) {
        for (std::int64_t i = 0; i < params.width; ++i) {
          const Axis::Run& run = columns.runs[i];
          const float* weights = columns.of(i);
          float total = from[run.first] * weights[0];
          for (std::int64_t j = 1; j < run.count; ++j) total += from[run.first + j] * weights[j];
          to[i] = total;
        }
      });
    });
    return Fault::kNone;
  }

 private:
  /// The weighted sum of rows of x, in `sum` or where x has it. There is room for another row
  /// behind `sum`.
  static const float* add_rows(const TensorArg& x, const RowIndex& at, const Axis::Run& run,
                               const float* weights, float* sum) {
    const std::int64_t n = x.sizes[0];
    const auto row = [&](std::int64_t j) {
      return view_f32(x, x.row(run.first + j, at.i2, at.i3), 0, n, sum + n);
    };
    if (run.count == 1 && weights[0] == 1) return row(0);
    simd::scale(x.level, row(0), weights[0], 0, sum, n);
    for (std::int64_t j = 1; j < run.count; ++j)
      simd::scale_add(x.level, row(j), weights[j], sum, sum, n);
    return sum;
  }
};

}  // namespace

KernelList upscale_kernels() {
  return list_kernels<CpuKernel, Upscale>();
}

}  // namespace shunt::cpu
