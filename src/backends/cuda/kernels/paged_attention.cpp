#include "backends/cuda/kernels/paged_attention.h"
#include "backends/cuda/kernel.h"
#include "shunt/ops/attention.h"

namespace shunt::cuda {

namespace {

class PagedAttention final : public CudaKernel {
 public:
  const Op& op() const override { return paged_attention_op(); }
  std::string_view module() const override { return "paged_attention"; }
  Support supports(const NodeView& node, const CudaTarget&) const override {
    for (const std::size_t cache : {1, 2}) {
      const Support answer =
          expect_types("keys and values", node.source(cache).dtype, kSingleTypes);
      if (!answer) return answer;
    }
    if (node.result().size(0) <= gpu::kMostHeadSize) return Support::yes();
    return Support::no(Refusal::kShape, "values of " + std::to_string(node.result().size(0)) +
                                            " numbers; the CUDA kernel takes " +
                                            std::to_string(gpu::kMostHeadSize));
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const std::vector<std::byte> parameters = bytes_of(params_of(node));
    return {
        {.kernel = "paged_attention_check",
         .items = view.source(3).size(1),
         .per_block = gpu::kAttentionThreads,
         .threads = gpu::kAttentionThreads,
         .parameters = parameters},
        {.kernel = "paged_attention_" + type_suffix({view.source(1).dtype, view.source(2).dtype}),
         .items = view.source(0).size(1) * view.source(0).size(2),
         .threads = gpu::kAttentionThreads,
         .parameters = parameters}};
  }

 private:
  static gpu::PagedAttentionArgs params_of(const BoundNode& node) {
    const NodeView& view = node.view();
    const auto& attention = view.params<PagedAttentionParams>();
    return {.common = node.common(),
            .q = node.source(0),
            .k = node.source(1),
            .v = node.source(2),
            .sequences = node.source(3),
            .table = node.source(4),
            .mask = node.source(5),
            .sinks = node.source(6),
            .y = node.result(),
            .window = attention.window,
            .block = attention.block,
            .span = static_cast<gpu::u64>(attention.span),
            .f16_mask = view.has_source(5) && view.source(5).dtype == DType::kF16 ? 1U : 0U,
            .scale = attention.scale,
            .max_bias = attention.max_bias,
            .softcap = attention.softcap};
  }
};

}  // namespace

KernelList paged_attention_kernels() {
  return list_kernels<CudaKernel, PagedAttention>();
}

}  // namespace shunt::cuda
