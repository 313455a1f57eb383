#include "backends/cuda/kernels/pool.h"

#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/windows.h"

namespace shunt::cuda {

namespace {

std::vector<LaunchPlan> plan_pool(const BoundNode& node, const gpu::Window& window,
                                  Pooling pooling) {
  const NodeView& view = node.view();
  const gpu::PoolArgs params = {node.common(), node.source(0), node.result(), window,
                                pooling == Pooling::kAverage ? 1U : 0U};
  return {{.kernel = "pool_" + type_suffix({view.source(0).dtype}),
           .items = element_count(view.result().shape),
           .per_block = 256,
           .parameters = bytes_of(params)}};
}

/// Rows are the height of an image, over which a window of one element moves.
class Pool1d final : public CudaKernel {
 public:
  const Op& op() const override { return pool_1d_op(); }
  std::string_view module() const override { return "pool"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const auto& [pooling, kernel, stride, pad] = node.view().params<Pool1dParams>();
    return plan_pool(node, gpu_window<1>({kernel}, {stride}, {pad}, {1}), pooling);
  }
};

class Pool2d final : public CudaKernel {
 public:
  const Op& op() const override { return pool_2d_op(); }
  std::string_view module() const override { return "pool"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const auto& [pooling, kernel, stride, pad] = node.view().params<Pool2dParams>();
    return plan_pool(node, gpu_window<2>(kernel, stride, pad, {1, 1}), pooling);
  }
};

}  // namespace

KernelList pool_kernels() {
  return list_kernels<CudaKernel, Pool1d, Pool2d>();
}

}  // namespace shunt::cuda
