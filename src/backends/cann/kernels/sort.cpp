#include "backends/cann/kernel.h"
#include "shunt/ops/order.h"

namespace shunt::cann {

namespace {

/// The elements with other signs, so that in ascending order the largest come first. NaN comes last
/// in either order.
View negative(Calls& calls, const View& x) {
  const View y = calls.temporary(x.type(), x.sizes());
  calls(kNeg, x, y);
  return y;
}

View ascending(Calls& calls, const View& x) {
  const View order = calls.temporary(DataType::kInt64, x.sizes());
  calls(kArgsort, x, x.vendor_dim(0), false, order);
  return order;
}

class Argsort final : public CannKernel {
 public:
  const Op& op() const override { return argsort_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View x = node.source(0);
    const bool descends = node.params<ArgsortParams>().order == SortOrder::kDescending;
    calls.copy(node.result(), ascending(calls, descends ? negative(calls, x) : x));
  }
};

class TopK final : public CannKernel {
 public:
  const Op& op() const override { return top_k_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View x = negative(calls, node.source(0));
    const View y = node.result();
    const std::int64_t k = y.size(0);
    const View values = calls.temporary(x.type(), y.sizes());
    const View order = calls.temporary(DataType::kInt64, y.sizes());
    if (calls.attempt(kTopk, x, k, x.vendor_dim(0), false, true, values, order)) {
      calls.copy(y, order);
    } else {
      calls.copy(y, ascending(calls, x).sliced(0, 0, k));
    }
  }
};

}  // namespace

KernelList sort_kernels() {
  return list_kernels<CannKernel, Argsort, TopK>();
}

}  // namespace shunt::cann
