#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/unary/unary.h"

namespace shunt {

namespace {

class LeakyRelu final : public Differentiable<LeakyReluParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "leaky_relu",
                                 .family = "unary",
                                 .summary =
                                     "Rectified linear unit of each element with a slope below 0: "
                                     "y = x if x > 0, else slope * x.",
                                 .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const LeakyReluParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_finite("slope", params.slope));
    return contiguous(x.dtype, x.shape);
  }

  void plain_reference(RefSources sources, const LeakyReluParams& params,
                       RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      const double x = at(*sources[0], i);
      at(result, i) = x > 0 ? x : params.slope * x;
    });
  }

  Status gradient_rule(Backward& node, const LeakyReluParams& params) const override {
    const Result<Value> above = step(node.g, as_f32(node.g, node.source(0)));
    const Result<Value> slope =
        scale(node.g, above, {.scale = 1 - params.slope, .bias = params.slope});
    return node.add_gradient(0, mul(node.g, node.dy(), slope));
  }
};

}  // namespace

const Op& leaky_relu_op() {
  static const LeakyRelu kOp;
  return kOp;
}

Result<Value> leaky_relu(GraphBuilder& g, Operand x, LeakyReluParams params) {
  return g.apply(leaky_relu_op(), Params::of(params), {&x});
}

}  // namespace shunt
