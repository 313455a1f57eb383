#include "backends/cann/formula.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cann {

namespace {

class SiluBack final : public CannKernel {
 public:
  const Op& op() const override { return silu_back_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View x = calls.contiguous(node.source(1));
    Formula formula(calls);
    const View gate = formula.apply(kSigmoid, x);
    // x * (1 - gate), in which no digits cancel.
    const View rest = formula.times(x, -1);
    formula.mul(x, formula.apply(kSigmoid, rest, rest), rest);
    formula.mul(formula.plus(rest, 1, rest), gate, gate);
    formula.mul(gate, node.source(0), node.result());
  }
};

}  // namespace

KernelList silu_back_kernels() {
  return list_kernels<CannKernel, SiluBack>();
}

}  // namespace shunt::cann
