#include "backends/cuda/kernels/solve_tri.h"
#include "backends/cuda/kernel.h"
#include "shunt/ops/matrix.h"

namespace shunt::cuda {

namespace {

class SolveTri final : public CudaKernel {
 public:
  const Op& op() const override { return solve_tri_op(); }
  std::string_view module() const override { return "solve_tri"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const Tensor& y = node.view().result();
    const auto& solve = node.view().params<SolveTriParams>();
    const gpu::SolveTriArgs params = {node.common(),
                                      node.source(0),
                                      node.source(1),
                                      node.result(),
                                      solve.triangle == Triangle::kUpper ? 1U : 0U,
                                      solve.unit ? 1U : 0U};
    return {{.kernel = "solve_tri",
             .items = y.size(0) * y.size(2) * y.size(3),
             .per_block = 64,
             .threads = 64,
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList solve_tri_kernels() {
  return list_kernels<CudaKernel, SolveTri>();
}

}  // namespace shunt::cuda
