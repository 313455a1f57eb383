#include "backends/cuda/kernels/paged_attention.h"
#include "backends/cuda/kernels/attention_node.h"
#include "shunt/ops/attention.h"

namespace shunt::cuda {

namespace {

class PagedAttention final : public CudaKernel {
 public:
  const Op& op() const override { return paged_attention_op(); }
  std::string_view module() const override { return "paged_attention"; }
  Support supports(const NodeView& node, const CudaTarget&) const override {
    return supports_attention(node);
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const auto& attention = view.params<PagedAttentionParams>();
    const gpu::PagedAttentionArgs params = {.common = node.common(),
                                            .in = attention_inputs<PagedAttentionParams>(node, 5),
                                            .sequences = node.source(3),
                                            .table = node.source(4),
                                            .window = attention.window,
                                            .block = attention.block,
                                            .span = static_cast<gpu::u64>(attention.span)};
    const std::vector<std::byte> parameters = bytes_of(params);
    return {{.kernel = "paged_attention_check",
             .items = view.source(3).size(1),
             .per_block = gpu::kAttentionThreads / 32,
             .threads = gpu::kAttentionThreads,
             .parameters = parameters},
            plan_attention("paged_attention", view, parameters)};
  }
};

}  // namespace

KernelList paged_attention_kernels() {
  return list_kernels<CudaKernel, PagedAttention>();
}

}  // namespace shunt::cuda
