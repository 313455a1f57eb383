#include "backends/cann/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cann {

namespace {

class Acc final : public CannKernel {
 public:
  const Op& op() const override { return acc_op(); }
  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View dst = calls.cast(node.result(), DataType::kFloat);
    const View x = calls.cast(node.source(1), DataType::kFloat);
    const View sum = calls.temporary(DataType::kFloat, dst.sizes());
    calls(kAdd, dst, x, 1.0F, sum);
    calls.copy(node.result(), sum);
  }
};

}  // namespace

KernelList acc_kernels() {
  return list_kernels<CannKernel, Acc>();
}

}  // namespace shunt::cann
