#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"

namespace shunt {

namespace {

class Scale final : public Differentiable<ScaleParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "scale",
        .family = "elementwise",
        .summary = "Each element scaled and shifted: y = x * scale + bias.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const ScaleParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_finite("scale", params.scale));
    SHUNT_TRY(expect_finite("bias", params.bias));
    return contiguous(x.dtype, x.shape);
  }

  void plain_reference(RefSources sources, const ScaleParams& params,
                       RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      at(result, i) = at(*sources[0], i) * params.scale + params.bias;
    });
  }

  Status gradient_rule(Backward& node, const ScaleParams& params) const override {
    return node.add_gradient(0, scale(node.g, node.dy(), {.scale = params.scale}));
  }
};

}  // namespace

const Op& scale_op() {
  static const Scale kOp;
  return kOp;
}

Result<Value> scale(GraphBuilder& g, Operand x, ScaleParams params) {
  return g.apply(scale_op(), Params::of(params), {&x});
}

}  // namespace shunt
