#include <algorithm>
#include <cmath>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/norm/norm.h"
#include "ops/reduce/reduce.h"
#include "ops/unary/unary.h"

namespace shunt {

namespace {

class L2Norm final : public Differentiable<L2NormParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "l2_norm",
        .family = "norm",
        .summary =
            "Each row with a Euclidean length of 1: y = x / max(sqrt(sum x^2), eps), zeros for "
            "zeros.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const L2NormParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_not_negative("eps", params.eps));
    return contiguous(x.dtype, x.shape);
  }

  void plain_reference(RefSources sources, const L2NormParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    for_each_row(result.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      double sum = 0;
      for (std::int64_t i = 0; i < x.sizes[0]; ++i)
        sum += x.at(i, i1, i2, i3) * x.at(i, i1, i2, i3);
      const double length = std::max(std::sqrt(sum), double{params.eps});
      for (std::int64_t i = 0; i < x.sizes[0]; ++i)
        result.at(i, i1, i2, i3) = length == 0 ? 0 : x.at(i, i1, i2, i3) / length;
    });
  }

  Status gradient_rule(Backward& node, const L2NormParams& params) const override {
    GraphBuilder& g = node.g;
    const Result<Value> dy = node.dy();
    const Result<Value> x = as_f32(g, node.source(0));
    const Result<Value> length = sqrt(g, sum_rows(g, sqr(g, x)));
    const Result<Value> divisor =
        clamp(g, length, {params.eps, std::numeric_limits<float>::infinity()});
    const Result<Value> y = div(g, x, divisor);
    // A row that is divided by its own length can't get longer: the component along y is lost.
    const Result<Value> along = mul(g, sum_rows(g, mul(g, y, dy)), is_above(g, length, params.eps));
    return node.add_gradient(0, div(g, sub(g, dy, mul(g, y, along)), divisor));
  }
};

}  // namespace

const Op& l2_norm_op() {
  static const L2Norm kOp;
  return kOp;
}

Result<Value> l2_norm(GraphBuilder& g, Operand x, L2NormParams params) {
  return g.apply(l2_norm_op(), Params::of(params), {&x});
}

}  // namespace shunt
