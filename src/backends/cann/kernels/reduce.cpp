#include "shunt/ops/reduce.h"
#include "backends/cann/formula.h"
#include "backends/cann/kernel.h"

namespace shunt::cann {

namespace {

/// Fills y with the value of no elements, if x has none.
bool fill_empty(Calls& calls, const View& x, const View& y, float value) {
  if (!x.is_empty()) return false;
  calls.fill(y, value);
  return true;
}

class Sum final : public CannKernel {
 public:
  const Op& op() const override { return sum_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View x = node.source(0);
    if (fill_empty(calls, x, node.result(), 0)) return;
    fill_f32(calls, node.result(),
             [&](const View& y) { Formula(calls).total(as_f32(calls, x), y); });
  }
};

class SumRows final : public CannKernel {
 public:
  const Op& op() const override { return sum_rows_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View x = node.source(0);
    if (fill_empty(calls, x, node.result(), 0)) return;
    fill_f32(calls, node.result(),
             [&](const View& y) { Formula(calls).row_sums(as_f32(calls, x), y); });
  }
};

class Mean final : public CannKernel {
 public:
  const Op& op() const override { return mean_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View x = node.source(0);
    if (fill_empty(calls, x, node.result(), std::numeric_limits<float>::quiet_NaN())) return;
    fill_f32(calls, node.result(),
             [&](const View& y) { Formula(calls).row_means(as_f32(calls, x), y); });
  }
};

class Cumsum final : public CannKernel {
 public:
  const Op& op() const override { return cumsum_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View x = as_f32(calls, node.source(0));
    fill_f32(calls, node.result(),
             [&](const View& y) { calls(kCumsum, x, x.vendor_dim(0), DataType::kFloat, y); });
  }
};

}  // namespace

KernelList reduce_kernels() {
  return list_kernels<CannKernel, Sum, SumRows, Mean, Cumsum>();
}

}  // namespace shunt::cann
