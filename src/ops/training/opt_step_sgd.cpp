#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/pairs.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class OptStepSgd final : public OpWith<SgdParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "opt_step_sgd",
                                 .family = "training",
                                 .summary =
                                     "A step along the gradient, in place: w = w - rate * "
                                     "(gradient + weight_decay * w). All floats are F32.",
                                 .sources = {"w", "gradient", "rate"},
                                 .storage = Storage::kIntoFirst,
                                 .place_by_place = true};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const SgdParams& params) const override {
    SHUNT_TRY(expect_pair(info(), sources, 0, 1));
    SHUNT_TRY(expect_type("rate", *sources[2], {DType::kF32}));
    SHUNT_TRY(expect_number("rate", *sources[2]));
    SHUNT_TRY(expect_not_negative("weight_decay", params.weight_decay));
    return Inferred{*sources[0]};
  }

  void plain_reference(RefSources sources, const SgdParams& params,
                       RefTensor& result) const override {
    const double rate = sources[2]->at(0);
    for_each_element(result.sizes, [&](const Sizes& i) {
      const double w = at(*sources[0], i);
      at(result, i) = w - rate * (at(*sources[1], i) + params.weight_decay * w);
    });
  }
};

}  // namespace

const Op& opt_step_sgd_op() {
  static const OptStepSgd kOp;
  return kOp;
}

Result<Value> opt_step_sgd(GraphBuilder& g, Operand w, Operand gradient, Operand rate,
                           SgdParams params) {
  return g.apply(opt_step_sgd_op(), Params::of(params), {&w, &gradient, &rate});
}

}  // namespace shunt
