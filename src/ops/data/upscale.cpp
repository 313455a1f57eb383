#include <algorithm>
#include <cmath>

#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

double cubic(double d, double a) {
  d = std::fabs(d);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  if (d <= 2) return a * (d * d * d - 5 * d * d + 8 * d - 4);
  return 0;
}

/// An element of x and its weight.
struct Tap {
  std::int64_t at = 0;
  double weight = 1;
};

/// The elements of n, with weights, that make element i of m: data.h has the formulas.
std::vector<Tap> taps_of(const UpscaleParams& params, std::int64_t n, std::int64_t m,
                         std::int64_t i) {
  const bool bilinear = params.interpolation == Interpolation::kBilinear;
  if (params.interpolation == Interpolation::kNearest) return {{i * n / m, 1}};
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const auto whole = [](double value) { return static_cast<std::int64_t>(std::floor(value)); };
  const double aligned = m > 1 ? real(n - 1) / real(m - 1) : 0;
  const double s = params.align_corners ? aligned : real(n) / real(m);
  std::vector<Tap> taps;
  if (params.antialias) {
    const double c = s * (real(i) + 0.5);
    const double w = std::max(s, 1.0);
    const double r = bilinear ? 1 : 2;
    double total = 0;
    for (std::int64_t j = std::max<std::int64_t>(0, whole(c - r * w + 0.5));
         j < std::min(n, whole(c + r * w + 0.5)); ++j) {
      const double d = (real(j) - c + 0.5) / w;
      taps.push_back({j, bilinear ? std::max(0.0, 1 - std::fabs(d)) : cubic(d, -0.5)});
      total += taps.back().weight;
    }
    for (Tap& tap : taps) tap.weight /= total;
    return taps;
  }
  const auto inside = [&](std::int64_t j) { return std::clamp<std::int64_t>(j, 0, n - 1); };
  double p = params.align_corners ? real(i) * s : (real(i) + 0.5) * s - 0.5;
  if (bilinear) p = std::max(p, 0.0);
  const std::int64_t k = whole(p);
  if (bilinear) return {{inside(k), 1 - (p - real(k))}, {inside(k + 1), p - real(k)}};
  for (std::int64_t j = k - 1; j <= k + 2; ++j)
    taps.push_back({inside(j), cubic(p - real(j), -0.75)});
  return taps;
}

Status expect_size(std::string_view name, std::int64_t size) {
  constexpr std::int64_t kMost = 0x7fffffff;
  if (size >= 1 && size <= kMost) return ok();
  return invalid("{} is {}, but must be from 1 to {}", name, size, kMost);
}

class Upscale final : public OpWith<UpscaleParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "upscale",
        .family = "data",
        .summary =
            "Images of another size, larger or smaller, as PyTorch's interpolate defines "
            "them: nearest, bilinear or bicubic (a = -3/4), with aligned corners or not, and "
            "with its filters against aliasing (triangle, or cubic with a = -1/2) if asked. The "
            "result has x's type.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const UpscaleParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    for (std::size_t i = 0; i < 2; ++i) {
      if (!x.shape[i].is_fixed()) {
        return invalid("dimension {} of x is {}, a dynamic dimension, but must be fixed", i,
                       to_string(x.shape[i]));
      }
      SHUNT_TRY(expect_size(i == 0 ? "dimension 0 of x" : "dimension 1 of x", x.shape[i].max));
    }
    SHUNT_TRY(expect_size("width", params.width));
    SHUNT_TRY(expect_size("height", params.height));
    const bool nearest = params.interpolation == Interpolation::kNearest;
    if (nearest && (params.align_corners || params.antialias)) {
      return invalid("{} can't be used in mode nearest",
                     params.align_corners ? "align_corners" : "antialias");
    }
    return contiguous(x.dtype, {params.width, params.height, x.shape[2], x.shape[3]});
  }

  void plain_reference(RefSources sources, const UpscaleParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    std::vector<std::vector<Tap>> columns;
    columns.reserve(static_cast<std::size_t>(params.width));
    for (std::int64_t i = 0; i < params.width; ++i) {
      columns.push_back(taps_of(params, x.sizes[0], params.width, i));
    }
    for_each_row(result.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      const std::vector<Tap> rows = taps_of(params, x.sizes[1], params.height, i1);
      for (std::int64_t i0 = 0; i0 < params.width; ++i0) {
        double sum = 0;
        for (const Tap& row : rows) {
          for (const Tap& column : columns[static_cast<std::size_t>(i0)]) {
            sum += row.weight * column.weight * x.at(column.at, row.at, i2, i3);
          }
        }
        result.at(i0, i1, i2, i3) = sum;
      }
    });
  }

  /// A multiplication and an addition for each element that one is made of, in rows and columns
  /// apart.
  double operations(const Tensor& result, SourceTensors sources,
                    const Params& params) const override {
    const auto& how = params.get<UpscaleParams>();
    double taps = how.interpolation == Interpolation::kNearest ? 1 : 2;
    if (how.interpolation == Interpolation::kBicubic) taps = 4;
    double all = 0;
    for (int axis = 0; axis < 2; ++axis) {
      const auto shrinks = static_cast<double>(sources[0]->size(axis)) /
                           static_cast<double>(std::max<std::int64_t>(1, result.size(axis)));
      all += 2 * taps * (how.antialias ? std::max(1.0, shrinks) : 1);
    }
    return all * static_cast<double>(element_count(result.shape));
  }
};

}  // namespace

std::string_view to_string(Interpolation interpolation) {
  constexpr std::array<std::string_view, 3> kNames = {"nearest", "bilinear", "bicubic"};
  return kNames[static_cast<std::size_t>(interpolation)];
}

const Op& upscale_op() {
  static const Upscale kOp;
  return kOp;
}

Result<Value> upscale(GraphBuilder& g, Operand x, UpscaleParams params) {
  return g.apply(upscale_op(), Params::of(params), {&x});
}

}  // namespace shunt
