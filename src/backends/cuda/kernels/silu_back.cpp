#include "backends/cuda/kernels/silu_back.h"

#include "backends/cuda/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

class SiluBack final : public CudaKernel {
 public:
  const Op& op() const override { return silu_back_op(); }
  std::string_view module() const override { return "silu_back"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const gpu::SiluBackArgs params = {node.common(), node.source(0), node.source(1), node.result()};
    return {{.kernel = "silu_back",
             .items = element_count(node.view().result().shape),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList silu_back_kernels() {
  return list_kernels<CudaKernel, SiluBack>();
}

}  // namespace shunt::cuda
