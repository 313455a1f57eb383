#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention/attention.h"
#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"

namespace shunt {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Softmax final : public OpWith<SoftmaxParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "softmax",
        .family = "attention",
        .summary =
            "Softmax of each row: y = exp(z - max(z)) / sum(exp(z - max(z))), z = x * scale + "
            "mask. A row whose z are all minus infinity gives zeros.",
        .sources = {"x", "mask?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const SoftmaxParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_type("x", x, {DType::kF32}));
    if (sources[1] != nullptr) SHUNT_TRY(expect_mask(*sources[1], x.shape));
    SHUNT_TRY(expect_finite("scale", params.scale));
    return contiguous(DType::kF32, x.shape);
  }

  void plain_reference(RefSources sources, const SoftmaxParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    const RefTensor* mask = sources[1];
    std::vector<double> z(static_cast<std::size_t>(x.sizes[0]));
    for_each_row(x.sizes, [&](std::int64_t t, std::int64_t h, std::int64_t s) {
      double largest = -kInfinity;
      for (std::size_t i = 0; i < z.size(); ++i) {
        const auto n = static_cast<std::int64_t>(i);
        z[i] = x.at(n, t, h, s) * params.scale;
        if (mask != nullptr) z[i] += mask->at(n, t, h % mask->sizes[2], s % mask->sizes[3]);
        largest = std::max(largest, z[i]);
      }
      if (largest == -kInfinity) return;  // the result is zeros to begin with
      double sum = 0;
      for (double& value : z) sum += value = std::exp(value - largest);
      for (std::size_t i = 0; i < z.size(); ++i) {
        result.at(static_cast<std::int64_t>(i), t, h, s) = z[i] / sum;
      }
    });
  }

  void cases(const CaseSink& sink) const override {
    constexpr DType kF32 = DType::kF32;
    const auto emit = [&](const CaseSource& x, const CaseSource& mask, float scale) {
      const std::vector<CaseSource> sources = {x, mask};
      const std::string_view how = mask.fill == Fill::kCausalMask ? "causal " : "";
      sink({.name = describe_sources(sources, fmt::format("{}scale={}", how, scale)),
            .params = Params::of(SoftmaxParams{scale}),
            .sources = sources});
    };
    for (const CaseSource& x : unary_sources(kF32)) {
      const Sizes sizes = sizes_of(x);
      emit(x, not_given(), 1);
      emit(filled(x, Fill::kUniform, -500, 500), not_given(), 0.5F);  // exp() alone would overflow
      emit(x, filled(source_of(kF32, sizes), Fill::kCausalMask, 0, 0), 0.125F);
      emit(x, source_of(DType::kF16, {sizes[0], sizes[1], 1, 1}), 0.7F);
    }
    for (DType type : {DType::kF32, DType::kF16}) {
      const CaseSource x = source_of(kF32, {33, 4, 3, 2});
      for (const Sizes& sizes : {Sizes{33, 4, 1, 2}, Sizes{33, 4, 3, 1}, Sizes{33, 4, 3, 2}}) {
        emit(x, source_of(type, sizes), 1);
        emit(x, filled(source_of(type, sizes), Fill::kCausalMask, 0, 0), 1);
      }
      emit(x, seen_as(type, {33, 4, 1, 1}, {0, 1, 2, 3}, {7, 2, 0, 0}), 1);
      emit(x, seen_as(type, {33, 4, 1, 1}, {1, 0, 2, 3}), -1);
      // What is cut off from a causal mask was all that its first rows allow.
      const CaseSource cut = seen_as(type, {3, 6, 1, 1}, {0, 1, 2, 3}, {3, 0, 0, 0});
      emit(source_of(kF32, {3, 6, 2, 1}), filled(cut, Fill::kCausalMask, 0, 0), 1);
    }
  }
};

}  // namespace

const Op& softmax_op() {
  static const Softmax kOp;
  return kOp;
}

Result<Value> softmax(GraphBuilder& g, Operand x, Operand mask, SoftmaxParams params) {
  return g.apply(softmax_op(), Params::of(params), {&x, &mask});
}

}  // namespace shunt
