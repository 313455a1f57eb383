#include "backends/cuda/kernels/arange.h"

#include "backends/cuda/kernel.h"
#include "shunt/ops/data.h"

namespace shunt::cuda {

namespace {

class Arange final : public CudaKernel {
 public:
  const Op& op() const override { return arange_op(); }
  std::string_view module() const override { return "arange"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const auto& numbers = node.view().params<ArangeParams>();
    const gpu::ArangeArgs params = {node.common(), node.result(), numbers.start, numbers.step};
    return {{.kernel = "arange",
             .items = node.view().result().size(0),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList arange_kernels() {
  return list_kernels<CudaKernel, Arange>();
}

}  // namespace shunt::cuda
