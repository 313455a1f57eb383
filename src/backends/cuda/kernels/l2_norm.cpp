#include "backends/cuda/kernels/l2_norm.h"

#include "backends/cuda/kernel.h"
#include "shunt/ops/norm.h"

namespace shunt::cuda {

namespace {

class L2Norm final : public CudaKernel {
 public:
  const Op& op() const override { return l2_norm_op(); }
  std::string_view module() const override { return "l2_norm"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const gpu::L2NormArgs params = {node.common(), node.source(0), node.result(),
                                    view.params<L2NormParams>().eps};
    return {{.kernel = "l2_norm_" + type_suffix({view.source(0).dtype}),
             .items = row_count(view.result()),
             .threads = threads_for_row(view.result()),
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList l2_norm_kernels() {
  return list_kernels<CudaKernel, L2Norm>();
}

}  // namespace shunt::cuda
