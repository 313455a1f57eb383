#include "ops/norm/norm.h"
#include "ops/common/backward.h"
#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/norm/standardize.h"
#include "ops/reduce/reduce.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class Norm final : public Differentiable<NormParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "norm",
        .family = "norm",
        .summary =
            "Each row with mean 0 and variance 1: y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + "
            "eps), zeros if all elements are the same.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NormParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_not_negative("eps", params.eps));
    return contiguous(x.dtype, x.shape);
  }

  void plain_reference(RefSources sources, const NormParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    result.data = x.data;
    if (x.data.empty()) return;
    const auto columns = static_cast<std::size_t>(x.sizes[0]);
    for (std::size_t first = 0; first < x.data.size(); first += columns) {
      standardize(std::span(result.data).subspan(first, columns), params.eps);
    }
  }

  Status gradient_rule(Backward& node, const NormParams& params) const override {
    const Result<Value> x = as_f32(node.g, node.source(0));
    return node.give(0, standardize_back(node.g, node.dy(), x, params.eps));
  }

  void cases(const CaseSink& sink) const override {
    const auto emit = [&](const CaseSource& x, const NormParams& params,
                          std::string_view extra = "") {
      sink({.name = fmt::format("{} {}{}", describe_source(x), describe(Params::of(params)), extra),
            .params = Params::of(params),
            .sources = {x},
            .max_error = float_error(x.dtype, kSumError)});
    };
    for (DType type : kFloatTypes) {
      for (const CaseSource& x : unary_sources(type)) {
        // A row of one element is all rounding without eps.
        if (sizes_of(x)[0] != 1) emit(x, {0});
        emit(x, {1e-5F});
        emit(x, {0.1F});
        emit(filled(x, Fill::kUniform, 1000, 1001), {1e-5F}, " far from 0");
      }
      emit(source_of(type, {5000, 2, 1, 1}), {1e-5F});
    }
  }
};

}  // namespace

Result<Value> standardize_back(GraphBuilder& g, Operand dy, Operand x, float eps) {
  // norm() is rms_norm() of what is left of x without its mean.
  const Result<Value> dx = rms_norm_back(g, dy, sub(g, x, mean(g, x)), {eps});
  return sub(g, dx, mean(g, dx));
}

const Op& norm_op() {
  static const Norm kOp;
  return kOp;
}

Result<Value> norm(GraphBuilder& g, Operand x, NormParams params) {
  return g.apply(norm_op(), Params::of(params), {&x});
}

}  // namespace shunt
