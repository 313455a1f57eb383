#include "backends/cuda/kernels/repeat_back.h"

#include "backends/cuda/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

class RepeatBack final : public CudaKernel {
 public:
  const Op& op() const override { return repeat_back_op(); }
  std::string_view module() const override { return "repeat_back"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    // Neighbouring elements are read together, unless there are too few for the device.
    constexpr std::int64_t kFew = 256;
    const gpu::RepeatBackArgs params = {node.common(), node.source(0), node.result()};
    const std::int64_t count = element_count(node.view().result().shape);
    const bool few = count <= kFew;
    return {{.kernel = few ? "repeat_back_few" : "repeat_back_many",
             .items = count,
             .per_block = few ? 1 : 256,
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList repeat_back_kernels() {
  return list_kernels<CudaKernel, RepeatBack>();
}

}  // namespace shunt::cuda
