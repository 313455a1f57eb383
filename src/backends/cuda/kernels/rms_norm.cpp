#include "backends/cuda/kernels/rms_norm.h"
#include "backends/cuda/kernel.h"
#include "shunt/ops/norm.h"

namespace shunt::cuda {

namespace {

class RmsNorm final : public CudaKernel {
 public:
  const Op& op() const override { return rms_norm_op(); }
  std::string_view module() const override { return "rms_norm"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const gpu::RmsNormArgs params = {node.common(), node.source(0), node.result(),
                                     node.view().params<RmsNormParams>().eps};
    return {{.kernel = "rms_norm_" + type_suffix({node.view().source(0).dtype}),
             .items = row_count(node.view().result()),
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList rms_norm_kernels() {
  return list_kernels<CudaKernel, RmsNorm>();
}

}  // namespace shunt::cuda
