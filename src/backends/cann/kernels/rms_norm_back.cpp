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
    const float eps = node.params<RmsNormParams>().eps;
    Formula formula(calls);
    const View root = formula.deviation(formula.row_means(formula.mul(x, x)), eps);
    View scaled = dy;
    if (x.size(0) == 1) {
      // Of one element the difference below is dy * eps / root^2, and all its digits cancel.
      scaled = formula.div(formula.div(formula.times(dy, eps), root), root);
    } else {
      // dy - y * mean(y * dy), where y is the norm of x.
      const View y = formula.div(x, root);
      scaled = formula.sub(dy, formula.mul(y, formula.row_means(formula.mul(y, dy))));
    }
    formula.div(scaled, root, node.result());
  }
};

}  // namespace

KernelList rms_norm_back_kernels() {
  return list_kernels<CannKernel, RmsNormBack>();
}

}  // namespace shunt::cann
