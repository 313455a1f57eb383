#include <cmath>
#include <utility>

#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/pairs.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class OptStepAdamw final : public OpWith<AdamwParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "opt_step_adamw",
                                 .family = "training",
                                 .summary =
                                     "A step of AdamW (arXiv 1711.05101), in place, once "
                                     "update_moment has put the gradient into m and "
                                     "v: w = w - rate * (m / (1 - beta1^step) / (sqrt(v / (1 - "
                                     "beta2^step)) + eps) + weight_decay * w). "
                                     "A run with a step below 1 fails. All floats are F32.",
                                 .sources = {"w", "m", "v", "rate", "step"},
                                 .storage = Storage::kIntoFirst,
                                 .place_by_place = true};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const AdamwParams& params) const override {
    SHUNT_TRY(expect_pair(info(), sources, 0, 1));
    SHUNT_TRY(expect_pair(info(), sources, 0, 2));
    SHUNT_TRY(expect_type("rate", *sources[3], {DType::kF32}));
    SHUNT_TRY(expect_number("rate", *sources[3]));
    SHUNT_TRY(expect_type("step", *sources[4], {DType::kI32}));
    SHUNT_TRY(expect_number("step", *sources[4]));
    for (const auto& [name, beta] : {std::pair("beta1", params.beta1), {"beta2", params.beta2}}) {
      if (beta >= 0 && beta < 1) continue;
      return invalid("{} is {}, which is not a number from 0 to below 1", name, beta);
    }
    SHUNT_TRY(expect_positive("eps", params.eps));
    SHUNT_TRY(expect_not_negative("weight_decay", params.weight_decay));
    return Inferred{*sources[0]};
  }

  void plain_reference(RefSources sources, const AdamwParams& params,
                       RefTensor& result) const override {
    const double rate = sources[3]->at(0);
    const double step = sources[4]->at(0);
    const double m_bias = 1 - std::pow(params.beta1, step);
    const double v_bias = 1 - std::pow(params.beta2, step);
    for_each_element(result.sizes, [&](const Sizes& i) {
      const double w = at(*sources[0], i);
      const double m = at(*sources[1], i) / m_bias;
      const double v = at(*sources[2], i) / v_bias;
      at(result, i) = w - rate * (m / (std::sqrt(v) + params.eps) + params.weight_decay * w);
    });
  }
};

}  // namespace

const Op& opt_step_adamw_op() {
  static const OptStepAdamw kOp;
  return kOp;
}

Result<Value> opt_step_adamw(GraphBuilder& g, Operand w, Operand gradient, Operand m, Operand v,
                             Operand rate, Operand step, AdamwParams params) {
  const auto mean = update_moment(g, m, gradient, {.beta = params.beta1, .power = 1});
  const auto square = update_moment(g, v, gradient, {.beta = params.beta2, .power = 2});
  return g.apply(opt_step_adamw_op(), Params::of(params), {&w, &mean, &square, &rate, &step});
}

}  // namespace shunt
