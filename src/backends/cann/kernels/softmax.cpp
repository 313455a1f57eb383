#include "backends/cann/blocks.h"
#include "backends/cann/kernel.h"
#include "backends/cann/scores.h"
#include "shunt/ops/attention.h"

namespace shunt::cann {

namespace {

class Softmax final : public CannKernel {
 public:
  const Op& op() const override { return softmax_op(); }
  bool needs_bf16() const override { return false; }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<SoftmaxParams>();
    const View x = elements_of(calls, stored_source(node, 0), DataType::kFloat);
    const View z = calls.temporary(DataType::kFloat, x.sizes());
    if (!node.has_source(1)) {
      calls(kMuls, x, params.scale, z);
    } else {
      View mask = calls.cast(node.source(1), DataType::kFloat);
      if (params.max_bias > 0) {
        View::Dims sizes = mask.sizes();
        sizes[2] = x.size(2);
        const View of_heads = calls.temporary(DataType::kFloat, sizes);
        calls(kMul, mask, slopes_of(calls, params.max_bias, x.size(2)), of_heads);
        mask = of_heads;
      }
      calls(kAdd, mask, x, params.scale, z);
    }
    const ScoreSums sums = exponentials(calls, z, sinks_of(calls, node, 2), z);
    calls(kDiv, z, sums.total, node.result());
  }
};

}  // namespace

KernelList softmax_kernels() {
  return list_kernels<CannKernel, Softmax>();
}

}  // namespace shunt::cann
