#include <cmath>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/sample/sample.h"
#include "ops/unary/unary.h"

namespace shunt {

namespace {

class Cube final : public Differentiable<CubeParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "cube",
                                 .family = "sample",
                                 .summary = "The third power of each element: y = factor * x^3.",
                                 .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const CubeParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_type("x", x, {DType::kF32}));
    if (!std::isfinite(params.factor))
      return invalid("factor is {}; it must be finite", params.factor);
    return contiguous(DType::kF32, x.shape);
  }

  void plain_reference(RefSources sources, const CubeParams& params,
                       RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      const double x = at(*sources[0], i);
      at(result, i) = params.factor * x * x * x;
    });
  }

  Status gradient_rule(Backward& node, const CubeParams& params) const override {
    const Result<Value> square = sqr(node.g, node.source(0));
    const Result<Value> slope = scale(node.g, square, {.scale = 3 * params.factor});
    return node.add_gradient(0, mul(node.g, node.dy(), slope));
  }
};

}  // namespace

const Op& cube_op() {
  static const Cube kOp;
  return kOp;
}

Result<Value> cube(GraphBuilder& g, Operand x, CubeParams params) {
  return g.apply(cube_op(), Params::of(params), {&x});
}

}  // namespace shunt
