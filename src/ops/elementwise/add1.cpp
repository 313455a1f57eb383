#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduce/reduce.h"

namespace shunt {

namespace {

class Add1 final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "add1",
                                 .family = "elementwise",
                                 .summary = "A single number added to each element: y = a + s.",
                                 .sources = {"a", "s"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& a = *sources[0];
    const Tensor& s = *sources[1];
    SHUNT_TRY(expect_float_type("a", a));
    SHUNT_TRY(expect_float_type("s", s));
    SHUNT_TRY(expect_number("s", s));
    return contiguous(a.dtype, a.shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      at(result, i) = at(*sources[0], i) + sources[1]->at(0);
    });
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    SHUNT_TRY(node.add_gradient(0, node.dy()));
    return node.needs_gradient(1) ? node.add_gradient(1, sum(node.g, node.dy())) : ok();
  }
};

}  // namespace

const Op& add1_op() {
  static const Add1 kOp;
  return kOp;
}

Result<Value> add1(GraphBuilder& g, Operand a, Operand s) {
  return g.apply(add1_op(), Params::of(NoParams{}), {&a, &s});
}

}  // namespace shunt
