#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "backends/cann/kernel.h"
#include "backends/cann/whole.h"
#include "shunt/ops/data.h"

namespace shunt::cann {

namespace {

/// An element of x and its weight.
struct Tap {
  std::int64_t at = 0;
  double weight = 1;
};
using Taps = std::vector<Tap>;

double cubic(double d, double a) {
  d = std::fabs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d <= 2) return ((d - 5) * d + 8) * d * a - 4 * a;
  return 0;
}

double real(std::int64_t number) {
  return static_cast<double>(number);
}
std::int64_t floor_of(double number) {
  return static_cast<std::int64_t>(std::floor(number));
}

/// One dimension, from n elements to m.
class Axis {
 public:
  Axis(const UpscaleParams& params, std::int64_t n, std::int64_t m)
      : how_(params.interpolation), antialias_(params.antialias), n_(n), m_(m) {
    if (params.align_corners) {
      scale_ = m > 1 ? real(n - 1) / real(m - 1) : 0;
    } else {
      scale_ = real(n) / real(m);
      shift_ = 0.5;
    }
  }

  bool is_nearest() const { return how_ == Interpolation::kNearest; }
  std::int64_t nearest(std::int64_t i) const { return i * n_ / m_; }
  /// The elements that make element i.
  Taps taps(std::int64_t i) const { return antialias_ ? filter(i) : interpolate(i); }
  /// At most so many.
  std::int64_t most() const {
    if (antialias_) return std::min(n_, static_cast<std::int64_t>(std::ceil(2 * reach())) + 1);
    return is_bilinear() ? 2 : 4;
  }

 private:
  bool is_bilinear() const { return how_ == Interpolation::kBilinear; }
  /// How far from its middle a filter sees.
  double reach() const { return (is_bilinear() ? 1 : 2) * std::max(scale_, 1.0); }

  Taps filter(std::int64_t i) const {
    const double center = scale_ * (real(i) + 0.5);
    const std::int64_t first = std::max<std::int64_t>(floor_of(center - reach() + 0.5), 0);
    const std::int64_t end = std::min(floor_of(center + reach() + 0.5), n_);
    Taps taps;
    double total = 0;
    for (std::int64_t j = first; j < end; ++j) {
      const double d = (real(j) - center + 0.5) / std::max(scale_, 1.0);
      taps.push_back({j, is_bilinear() ? std::max(0.0, 1 - std::fabs(d)) : cubic(d, -0.5)});
      total += taps.back().weight;
    }
    for (Tap& tap : taps) tap.weight /= total;
    return taps;
  }

  Taps interpolate(std::int64_t i) const {
    double place = (real(i) + shift_) * scale_ - shift_;
    if (is_bilinear()) place = std::max(place, 0.0);
    const std::int64_t floor = floor_of(place);
    Taps taps;
    for (std::int64_t j = floor - most() / 2 + 1; j <= floor + most() / 2; ++j) {
      const double d = place - real(j);
      taps.push_back({std::clamp<std::int64_t>(j, 0, n_ - 1),
                      is_bilinear() ? 1 - std::fabs(d) : cubic(d, -0.75)});
    }
    return taps;
  }

  Interpolation how_;
  bool antialias_;
  std::int64_t n_, m_;
  double scale_ = 1;
  double shift_ = 0;
};

/// The taps of an axis, as many for each element: [most, m]. The last tap of an element is split
/// where there are fewer.
class TapTable {
 public:
  TapTable(const Axis& axis, std::int64_t m) : most_(axis.most()) {
    for (std::int64_t i = 0; i < m; ++i) {
      const Taps taps = axis.taps(i);
      const std::int64_t missing = most_ - static_cast<std::int64_t>(taps.size());
      taps_.insert(taps_.end(), taps.begin(), taps.end());
      if (missing == 0) continue;
      taps_.back().weight /= real(missing + 1);
      taps_.insert(taps_.end(), static_cast<std::size_t>(missing), taps_.back());
    }
  }
  const Tap& operator[](std::size_t i) const { return taps_[i]; }

 private:
  std::int64_t most_;
  Taps taps_;
};

class Upscale final : public CannKernel {
 public:
  const Op& op() const override { return upscale_op(); }

  Support accepts(const NodeView& view, const CannTarget& target) const override {
    const Tensor& x = view.source(0);
    if (std::max(x.size(0), x.size(1)) < kMostHostIndices) return CannKernel::accepts(view, target);
    return Support::no(Refusal::kShape, fmt::format("images have more than {} rows or columns",
                                                    kMostHostIndices - 1));
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<UpscaleParams>();
    const View result = node.result();
    const bool nearest = params.interpolation == Interpolation::kNearest;
    View x = nearest ? node.source(0) : calls.cast(node.source(0), DataType::kFloat);
    for (const std::size_t d : {std::size_t{0}, std::size_t{1}}) {
      const std::int64_t m = result.size(d);
      if (m == x.size(d)) continue;
      const Axis axis(params, x.size(d), m);
      const std::string key = fmt::format("upscale {} {} {} {} {}", to_string(params.interpolation),
                                          params.align_corners, params.antialias, x.size(d), m);
      x = nearest ? pick(calls, axis, key, x, d, m) : sum(calls, axis, key, x, d, m);
    }
    calls.copy(result, x);
  }

 private:
  static View::Dims with_size(View::Dims sizes, std::size_t dim, std::int64_t size) {
    sizes[dim] = size;
    return sizes;
  }

  static View pick(Calls& calls, const Axis& axis, const std::string& key, const View& x,
                   std::size_t dim, std::int64_t m) {
    const View picks = host_indices(calls, key, m, [&](std::int64_t i) { return axis.nearest(i); });
    const View y = calls.temporary(x.type(), with_size(x.sizes(), dim, m));
    calls(kGatherV2, x, x.vendor_dim(dim), picks, y);
    return y;
  }

  /// The elements that make each one, in a dimension of their own, times their weights.
  static View sum(Calls& calls, const Axis& axis, const std::string& key, const View& x,
                  std::size_t dim, std::int64_t m) {
    const std::int64_t most = axis.most();
    std::optional<TapTable> table;  // when the constants are made
    const auto tap = [&](std::size_t i) -> const Tap& {
      if (!table) table.emplace(axis, m);
      return (*table)[i];
    };
    const View picks = host_indices(calls, key + " taps", most * m, [&](std::int64_t i) {
      return tap(static_cast<std::size_t>(i)).at;
    });
    const View numbers = calls.constant(key + " weights", static_cast<std::size_t>(most * m),
                                        [&](std::span<float> to) {
                                          for (std::size_t i = 0; i < to.size(); ++i)
                                            to[i] = static_cast<float>(tap(i).weight);
                                        });
    View::Dims apart = with_size(x.sizes(), dim, m);
    apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(dim), most);
    const View picked = calls.temporary(x.type(), apart);
    calls(kGatherV2, x, x.vendor_dim(dim), picks.reshaped({most, m}), picked);
    View weights = numbers.reshaped({most, m});
    for (std::size_t d = 0; d < dim; ++d) weights = weights.with_dim(0);
    const View weighted = calls.temporary(x.type(), apart);
    calls(kMul, picked, weights, weighted);
    const View y = calls.temporary(x.type(), with_size(x.sizes(), dim, m));
    calls(kReduceSum, weighted, std::vector{weighted.vendor_dim(dim)}, false, x.type(), y);
    return y;
  }
};

}  // namespace

KernelList upscale_kernels() {
  return list_kernels<CannKernel, Upscale>();
}

}  // namespace shunt::cann
