#include <limits>

#include "backends/cann/formula.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/norm.h"

namespace shunt::cann {

namespace {

/// Squares of large or small elements are out of range for F32. So each row is divided by its
/// largest element first, and eps as well.
void compose_l2_norm(Calls& calls, const View& x, float eps, const View& y) {
  constexpr float kSmallest = std::numeric_limits<float>::min();
  Formula formula(calls);
  const View part = formula.apply(kAbs, x);
  const View peak = formula.at_least(formula.row_peaks(part), kSmallest);
  formula.div(x, peak, part);
  View length = formula.apply(kSqrt, formula.row_sums(formula.mul(part, part)));
  if (eps > 0) {
    const View bound = formula.times(formula.apply(kReciprocal, peak), eps);
    const View bounded = calls.temporary(DataType::kFloat, length.sizes());
    calls(kMaximum, length, bound, bounded);
    length = bounded;
  }
  formula.div(part, formula.at_least(length, kSmallest), y);
}

class L2Norm final : public CannKernel {
 public:
  const Op& op() const override { return l2_norm_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    fill_f32(calls, node.result(), [&](const View& y) {
      compose_l2_norm(calls, as_f32(calls, node.source(0)), node.params<L2NormParams>().eps, y);
    });
  }
};

}  // namespace

KernelList l2_norm_kernels() {
  return list_kernels<CannKernel, L2Norm>();
}

}  // namespace shunt::cann
