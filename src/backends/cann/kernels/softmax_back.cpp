#include "backends/cann/kernel.h"
#include "shunt/ops/attention.h"
#include "shunt/ops/training.h"

namespace shunt::cann {

namespace {

/// scale * y * (dy - sum(y * dy)).
class SoftmaxBack final : public CannKernel {
 public:
  const Op& op() const override { return softmax_back_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View dy = node.source(0);
    const View y = node.source(1);
    const View products = calls.temporary(DataType::kFloat, y.sizes());
    calls(kMul, y, dy, products);
    View::Dims of_rows = y.sizes();
    of_rows[0] = 1;
    const View sums = calls.temporary(DataType::kFloat, of_rows);
    calls(kReduceSum, products, {products.vendor_dim(0)}, true, DataType::kFloat, sums);
    const View above = calls.temporary(DataType::kFloat, y.sizes());
    calls(kSub, dy, sums, 1.0F, above);
    calls(kMul, y, above, products);
    calls(kMuls, products, node.params<SoftmaxParams>().scale, node.result());
  }
};

}  // namespace

KernelList softmax_back_kernels() {
  return list_kernels<CannKernel, SoftmaxBack>();
}

}  // namespace shunt::cann
