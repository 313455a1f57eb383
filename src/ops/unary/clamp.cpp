#include <algorithm>
#include <limits>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/unary/unary.h"

namespace shunt {

namespace {

class Clamp final : public Differentiable<ClampParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "clamp",
        .family = "unary",
        .summary = "Each element kept between two bounds: y = min(max(x, low), high).",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const ClampParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    // A comparison with not-a-number is false.
    if (!(params.low <= params.high))
      return invalid("low is {} and high is {}, but low must not be above high", params.low,
                     params.high);
    return contiguous(x.dtype, x.shape);
  }

  void plain_reference(RefSources sources, const ClampParams& params,
                       RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      const double x = at(*sources[0], i);
      at(result, i) = std::clamp(x, double{params.low}, double{params.high});
    });
  }

  Status gradient_rule(Backward& node, const ClampParams& params) const override {
    const Result<Value> x = as_f32(node.g, node.source(0));
    const Result<Value> above = mul(node.g, node.dy(), is_above(node.g, x, params.low));
    return node.add_gradient(0, mul(node.g, above, is_below(node.g, x, params.high)));
  }
};

}  // namespace

const Op& clamp_op() {
  static const Clamp kOp;
  return kOp;
}

Result<Value> clamp(GraphBuilder& g, Operand x, ClampParams params) {
  return g.apply(clamp_op(), Params::of(params), {&x});
}

}  // namespace shunt
