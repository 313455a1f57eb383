#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/norm/norm.h"
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
    return node.add_gradient(0, standardize_back(node.g, node.dy(), x, params.eps));
  }
};

}  // namespace

Result<Value> standardize_back(GraphBuilder& g, Operand dy, Operand x, float eps) {
  // norm() is rms_norm() of x without its mean.
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
