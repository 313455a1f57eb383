#include <cmath>

#include "ops/activation/activation.h"
#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"

namespace shunt {

namespace {

class Silu final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "silu",
        .family = "activation",
        .summary = "Sigmoid linear unit of each element: y = x / (1 + exp(-x)).",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_type("x", x, {DType::kF32}));
    return contiguous(DType::kF32, x.shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      const double x = at(*sources[0], i);
      at(result, i) = x / (1 + std::exp(-x));
    });
  }

  void cases(const CaseSink& sink) const override {
    for (const CaseSource& x : unary_sources(DType::kF32)) {
      sink({.name = describe_source(x), .params = Params::of(NoParams{}), .sources = {x}});
      // exp(-x) overflows F32 below -88, where y is still 0 and not NaN.
      sink({.name = describe_source(x) + " large",
            .params = Params::of(NoParams{}),
            .sources = {filled(x, Fill::kUniform, -200, 200)}});
    }
  }
};

}  // namespace

const Op& silu_op() {
  static const Silu kOp;
  return kOp;
}

Result<Value> silu(GraphBuilder& g, Operand x) {
  return g.apply(silu_op(), Params::of(NoParams{}), {&x});
}

}  // namespace shunt
