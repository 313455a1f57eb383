#include "backends/cuda/kernels/timestep_embedding.h"

#include <cmath>

#include "backends/cuda/kernel.h"
#include "shunt/ops/data.h"

namespace shunt::cuda {

namespace {

class TimestepEmbedding final : public CudaKernel {
 public:
  const Op& op() const override { return timestep_embedding_op(); }
  std::string_view module() const override { return "timestep_embedding"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const gpu::TimestepEmbeddingArgs params = {
        node.common(), node.source(0), node.result(), view.source(0).dtype == DType::kI32 ? 1U : 0U,
        std::log(double{view.params<TimestepEmbeddingParams>().max_period})};
    const Tensor& y = view.result();
    return {{.kernel = "timestep_embedding",
             .items = (y.size(0) - y.size(0) / 2) * y.size(1),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList timestep_embedding_kernels() {
  return list_kernels<CudaKernel, TimestepEmbedding>();
}

}  // namespace shunt::cuda
