#include "backends/cuda/kernels/rms_norm_back.h"

#include "backends/cuda/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

class RmsNormBack final : public CudaKernel {
 public:
  const Op& op() const override { return rms_norm_back_op(); }
  std::string_view module() const override { return "rms_norm_back"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const gpu::RmsNormBackArgs params = {node.common(), node.source(0), node.source(1),
                                         node.result(), view.params<RmsNormParams>().eps};
    return {{.kernel = "rms_norm_back",
             .items = row_count(view.result()),
             .threads = threads_for_row(view.result()),
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList rms_norm_back_kernels() {
  return list_kernels<CudaKernel, RmsNormBack>();
}

}  // namespace shunt::cuda
