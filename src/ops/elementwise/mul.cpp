#include "ops/common/broadcast.h"
#include "ops/elementwise/elementwise.h"

namespace shunt {

namespace {

class Mul final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "mul",
        .family = "elementwise",
        .summary =
            "Product of each element: y = a * b. b is repeated along the dimensions of a that "
            "it divides.",
        .sources = {"a", "b"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    return infer_broadcast(sources);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    reference_broadcast(sources, result, [](double a, double b) { return a * b; });
  }

  void cases(const CaseSink& sink) const override { broadcast_cases(sink); }
};

}  // namespace

const Op& mul_op() {
  static const Mul kOp;
  return kOp;
}

Result<Value> mul(GraphBuilder& g, Operand a, Operand b) {
  return g.apply(mul_op(), Params::of(NoParams{}), {&a, &b});
}

}  // namespace shunt
