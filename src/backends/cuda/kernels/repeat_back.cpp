#include "backends/cuda/kernels/repeat_back.h"

#include "backends/cuda/kernel.h"
#include "base/ceil_div.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

class RepeatBack final : public CudaKernel {
 public:
  const Op& op() const override { return repeat_back_op(); }
  std::string_view module() const override { return "repeat_back"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const std::int64_t count = element_count(view.result().shape);
    const std::int64_t together = elements_of_block(count, element_count(view.source(0).shape));
    const gpu::RepeatBackArgs params = {node.common(), node.source(0), node.result(), together};
    return {{.kernel = "repeat_back",
             .items = count,
             .per_block = together,
             .threads = gpu::kRepeatBackThreads,
             .parameters = bytes_of(params)}};
  }

 private:
  /// As many as there are threads, unless an element has enough terms to share. Fewer than a warp
  /// read together only where there are too few for the device.
  static std::int64_t elements_of_block(std::int64_t count, std::int64_t terms) {
    constexpr std::int64_t kWarp = 32, kFewBlocks = 128, kTermsOfThread = 16;
    const std::int64_t repeats = count == 0 ? 0 : terms / count;
    std::int64_t together = gpu::kRepeatBackThreads;
    while (together > 1 && (together > kWarp || ceil_div(count, together) < kFewBlocks) &&
           repeats * together >= kTermsOfThread * 2 * gpu::kRepeatBackThreads)
      together /= 2;
    return together;
  }
};

}  // namespace

KernelList repeat_back_kernels() {
  return list_kernels<CudaKernel, RepeatBack>();
}

}  // namespace shunt::cuda
