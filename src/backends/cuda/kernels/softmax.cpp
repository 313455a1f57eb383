#include "backends/cuda/kernels/softmax.h"

#include "backends/cuda/kernel.h"
#include "shunt/ops/attention.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

class Softmax final : public CudaKernel {
 public:
  const Op& op() const override { return softmax_op(); }
  std::string_view module() const override { return "softmax"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const auto& given = view.params<SoftmaxParams>();
    const bool f16_mask = view.has_source(1) && view.source(1).dtype == DType::kF16;
    const gpu::SoftmaxArgs params = {.common = node.common(),
                                     .x = node.source(0),
                                     .mask = node.source(1),
                                     .sinks = node.source(2),
                                     .y = node.result(),
                                     .f16_mask = f16_mask ? 1U : 0U,
                                     .scale = given.scale,
                                     .max_bias = given.max_bias};
    return {{.kernel = "softmax_" + type_suffix({view.source(0).dtype}),
             .items = row_count(view.result()),
             .threads = threads_for_row(view.result()),
             .parameters = bytes_of(params)}};
  }
};

class SoftmaxBack final : public CudaKernel {
 public:
  const Op& op() const override { return softmax_back_op(); }
  std::string_view module() const override { return "softmax"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const gpu::SoftmaxBackArgs params = {node.common(), node.source(0), node.source(1),
                                         node.result(), view.params<SoftmaxParams>().scale};
    return {{.kernel = "softmax_back",
             .items = row_count(view.result()),
             .threads = threads_for_row(view.result()),
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList softmax_kernels() {
  return list_kernels<CudaKernel, Softmax, SoftmaxBack>();
}

}  // namespace shunt::cuda
