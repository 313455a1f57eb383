#include "backends/cuda/kernels/attention.h"

#include "backends/cuda/kernels/attention_node.h"
#include "shunt/ops/attention.h"

namespace shunt::cuda {

namespace {

class Attention final : public CudaKernel {
 public:
  const Op& op() const override { return attention_op(); }
  std::string_view module() const override { return "attention"; }
  Support supports(const NodeView& node, const CudaTarget&) const override {
    return supports_attention(node);
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const gpu::AttentionArgs params = {node.common(), attention_inputs<AttentionParams>(node, 3)};
    return {plan_attention("attention", node.view(), bytes_of(params))};
  }
};

}  // namespace

KernelList attention_kernels() {
  return list_kernels<CudaKernel, Attention>();
}

}  // namespace shunt::cuda
