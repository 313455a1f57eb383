#include "backends/cann/formula.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cann {

namespace {

class RmsNormBack final : public CannKernel {
 public:
  const Op& op() const override { return rms_norm_back_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View dy = calls.contiguous(node.source(0));
    const View x = calls.contiguous(node.source(1));
    Formula formula(calls);
    const View root =
        formula.deviation(formula.row_means(formula.mul(x, x)), node.params<RmsNormParams>().eps);
    // (dy - y * mean(y * dy)) / root, where y is the norm of x.
    const View y = formula.div(x, root);
    const View share = formula.row_means(formula.mul(y, dy));
    formula.div(formula.sub(dy, formula.mul(y, share)), root, node.result());
  }
};

}  // namespace

KernelList rms_norm_back_kernels() {
  return list_kernels<CannKernel, RmsNormBack>();
}

}  // namespace shunt::cann
