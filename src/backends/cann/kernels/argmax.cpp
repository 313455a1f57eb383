#include "backends/cann/kernel.h"
#include "shunt/ops/order.h"

namespace shunt::cann {

namespace {

class Argmax final : public CannKernel {
 public:
  const Op& op() const override { return argmax_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View x = node.source(0);
    // A run may have rows without elements, which have no index.
    if (x.is_empty()) return calls.fill(node.result(), 0);
    calls(kArgMax, x, x.vendor_dim(0), false, node.result().without(3));
  }
};

}  // namespace

KernelList argmax_kernels() {
  return list_kernels<CannKernel, Argmax>();
}

}  // namespace shunt::cann
