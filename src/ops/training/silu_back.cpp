#include <cmath>

#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/pairs.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class SiluBack final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "silu_back",
        .family = "training",
        .summary =
            "Gradient of silu: dx = dy * s * (1 + x * (1 - s)), with s = 1 / (1 + "
            "exp(-x)). All floats are F32.",
        .sources = {"dy", "x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    SHUNT_TRY(expect_pair(info(), sources, 0, 1));
    return contiguous(DType::kF32, sources[0]->shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      const double x = at(*sources[1], i);
      const double s = 1 / (1 + std::exp(-x));
      at(result, i) = at(*sources[0], i) * s * (1 + x * (1 - s));
    });
  }
};

}  // namespace

const Op& silu_back_op() {
  static const SiluBack kOp;
  return kOp;
}

Result<Value> silu_back(GraphBuilder& g, Operand dy, Operand x) {
  return g.apply(silu_back_op(), Params::of(NoParams{}), {&dy, &x});
}

}  // namespace shunt
