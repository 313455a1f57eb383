#include "backends/cuda/kernels/argmax.h"

#include "backends/cuda/kernel.h"
#include "shunt/ops/order.h"

namespace shunt::cuda {

namespace {

class Argmax final : public CudaKernel {
 public:
  const Op& op() const override { return argmax_op(); }
  std::string_view module() const override { return "argmax"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const Tensor& x = node.view().source(0);
    const gpu::ArgmaxArgs params = {node.common(), node.source(0), node.result()};
    return {{.kernel = "argmax_" + type_suffix({x.dtype}),
             .items = row_count(x),
             .threads = threads_for_row(x),
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList argmax_kernels() {
  return list_kernels<CudaKernel, Argmax>();
}

}  // namespace shunt::cuda
