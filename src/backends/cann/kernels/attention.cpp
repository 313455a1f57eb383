#include "backends/cann/attention.h"

#include "backends/cann/fused_attention.h"
#include "backends/cann/kernel.h"
#include "backends/cann/scores.h"
#include "shunt/ops/attention.h"

namespace shunt::cann {

namespace {

class Attention final : public CannKernel {
 public:
  const Op& op() const override { return attention_op(); }
  bool needs_bf16() const override { return false; }
  Support accepts(const NodeView&, const CannTarget&) const override { return Support::yes(); }

  void compute(Calls& calls, const Operands& node, const CannTarget& target) const override {
    const auto& params = node.params<AttentionParams>();
    if (node.sizes(1)[2] == 0) return calls.fill(node.result(), 0.0F);
    const auto elements = [&](std::size_t source) {
      return attention_elements(calls, stored_source(node, source));
    };
    AttentionOperands operands = {.q = node.source(0),
                                  .k = elements(1).permuted({0, 2, 1, 3}),
                                  .v = elements(2).permuted({0, 2, 1, 3}),
                                  .sinks = sinks_of(calls, node, 4),
                                  .scale = params.scale,
                                  .max_bias = params.max_bias,
                                  .softcap = params.softcap};
    if (node.has_source(3)) operands.bias = calls.contiguous(node.source(3));
    if (is_fused(node.view(), target) && attend_fused(calls, operands, node.result()) &&
        !needs_both(calls))
      return;
    attend(calls, target, operands, node.result());
  }

  double rounding_error(const NodeView& view, const CannTarget& target) const override {
    return attention_error(view, view.params<AttentionParams>().scale, target,
                           is_fused(view, target));
  }

 private:
  static bool is_fused(const NodeView& view, const CannTarget& target) {
    const bool plain =
        !view.has_source(3) && !view.has_source(4) && view.params<AttentionParams>().softcap == 0;
    return may_be_fused(view, plain, target);
  }
};

}  // namespace

KernelList attention_kernels() {
  return list_kernels<CannKernel, Attention>();
}

}  // namespace shunt::cann
