#include <cmath>

#include "backends/cann/formula.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cann {

namespace {

/// 1 - beta^step without the digits that cancel: -expm1(step * ln(beta)).
View bias_of(Calls& calls, const View& step, float beta) {
  Formula formula(calls);
  const auto logarithm = static_cast<float>(std::log(double{beta}));
  return formula.times(formula.apply(kExpm1, formula.times(step, logarithm)), -1);
}

/// A moment without its bias.
View unbiased(Calls& calls, const View& moment, const View& step, float beta) {
  return beta == 0 ? moment : Formula(calls).div(moment, bias_of(calls, step, beta));
}

class OptStepAdamw final : public CannKernel {
 public:
  const Op& op() const override { return opt_step_adamw_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<AdamwParams>();
    const View w = calls.contiguous(node.source(0));
    const View number = node.source(4);
    const View bad = calls.temporary(DataType::kBool, number.sizes());
    calls(kLtScalar, number, Scalar(DataType::kInt32, 1), bad);
    calls.check_none(bad, "the step is below 1");
    const View step = calls.cast(number, DataType::kFloat);
    Formula formula(calls);
    const View m = unbiased(calls, node.source(1), step, params.beta1);
    const View v = unbiased(calls, node.source(2), step, params.beta2);
    const View root = formula.plus(formula.apply(kSqrt, v), params.eps);
    View change = formula.div(m, root);
    if (params.weight_decay != 0) change = formula.add_times(change, w, params.weight_decay);
    formula.sub(w, formula.mul(change, node.source(3)), node.result());
  }
};

class OptStepSgd final : public CannKernel {
 public:
  const Op& op() const override { return opt_step_sgd_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View w = calls.contiguous(node.source(0));
    const float decay = node.params<SgdParams>().weight_decay;
    Formula formula(calls);
    const View gradient = node.source(1);
    const View change = decay == 0 ? gradient : formula.add_times(gradient, w, decay);
    formula.sub(w, formula.mul(change, node.source(2)), node.result());
  }
};

class UpdateMoment final : public CannKernel {
 public:
  const Op& op() const override { return update_moment_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<UpdateMomentParams>();
    const View x = calls.contiguous(node.source(1));
    Formula formula(calls);
    const View power = params.power == 2 ? formula.mul(x, x) : x;
    const View kept = formula.times(node.source(0), params.beta);
    formula.add_times(kept, power, static_cast<float>(1 - double{params.beta}), node.result());
  }
};

}  // namespace

KernelList opt_step_kernels() {
  return list_kernels<CannKernel, OptStepAdamw, OptStepSgd, UpdateMoment>();
}

}  // namespace shunt::cann
