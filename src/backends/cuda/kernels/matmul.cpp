#include "backends/cuda/kernels/matmul.h"
#include "backends/cuda/kernel.h"
#include "base/ceil_div.h"
#include "shunt/ops/matrix.h"

namespace shunt::cuda {

namespace {

class Matmul final : public CudaKernel {
 public:
  const Op& op() const override { return matmul_op(); }
  std::string_view module() const override { return "matmul"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const Tensor& y = view.result();
    const gpu::MatmulArgs params = {node.common(), node.source(0), node.source(1), node.result()};
    return {{.kernel = "matmul_" + type_suffix({view.source(0).dtype, view.source(1).dtype}),
             .items = y.size(0) * ceil_div(y.size(1), gpu::kMatmulColumns) * y.size(2) * y.size(3),
             .per_block = gpu::kMatmulThreads / 32,
             .threads = gpu::kMatmulThreads,
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList matmul_kernels() {
  return list_kernels<CudaKernel, Matmul>();
}

}  // namespace shunt::cuda
