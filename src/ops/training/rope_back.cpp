#include <array>

#include "ops/common/checks.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class RopeBack final : public OpWith<RopeParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "rope_back",
                                 .family = "training",
                                 .summary =
                                     "Gradient of rope: each pair is turned back by its angle, and "
                                     "multiplied by the same magnitude: "
                                     "rope of dy at the negated positions.",
                                 .sources = {"dy", "positions", "freq_factors?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const RopeParams& params) const override {
    return rope_op().infer(sources, Params::of(params));
  }

  void plain_reference(RefSources sources, const RopeParams& params,
                       RefTensor& result) const override {
    RefTensor back = *sources[1];
    for (double& position : back.data) position = -position;
    const std::array<const RefTensor*, 3> turned = {sources[0], &back, sources[2]};
    rope_op().reference(turned, Params::of(params), result);
  }
};

}  // namespace

const Op& rope_back_op() {
  static const RopeBack kOp;
  return kOp;
}

Result<Value> rope_back(GraphBuilder& g, Operand dy, Operand positions, Operand freq_factors,
                        RopeParams params) {
  return g.apply(rope_back_op(), Params::of(params), {&dy, &positions, &freq_factors});
}

}  // namespace shunt
