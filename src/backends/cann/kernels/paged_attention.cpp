#include "backends/cann/attention.h"
#include "backends/cann/blocks.h"
#include "backends/cann/fused_attention.h"
#include "backends/cann/kernel.h"
#include "backends/cann/paged_slots.h"
#include "backends/cann/scores.h"
#include "shunt/message.h"
#include "shunt/ops/attention.h"

namespace shunt::cann {

namespace {

class PagedAttention final : public CannKernel {
 public:
  const Op& op() const override { return paged_attention_op(); }

  bool needs_bf16() const override { return false; }
  Support accepts(const NodeView& view, const CannTarget&) const override {
    // See PagedSlots.
    const auto& params = view.params<PagedAttentionParams>();
    const bool halves = params.span == AttentionSpan::kChunked;  // positions and a half are exact
    const std::int64_t most = std::int64_t{1} << (halves ? 22 : 24);
    if (view.source(4).shape[0].max * params.block >= most || view.source(1).shape[2].max >= most) {
      return Support::no(Refusal::kShape,
                         fmt::format("the cache or the block table has {} rows, or more", most));
    }
    if (view.has_source(5) &&
        element_count({view.source(5).shape[0], view.source(5).shape[1]}) >= std::int64_t{1} << 31)
      return Support::no(Refusal::kShape, "the mask has more scores than 32 bits can count");
    return Support::yes();
  }

  void compute(Calls& calls, const Operands& node, const CannTarget& target) const override {
    const auto& params = node.params<PagedAttentionParams>();
    PagedSlots slots(calls, node);
    if (!slots.prepare()) return calls.fill(node.result(), 0.0F);
    const auto cache = [&](std::size_t source) {
      const StoredTensor stored = stored_source(node, source);
      const View rows = slots.gather(moved_view(stored, calls.chip()));
      return attention_elements(calls, stored_in(stored.type, rows));
    };
    AttentionOperands operands = {.q = node.source(0),
                                  .k = cache(1),
                                  .v = cache(2),
                                  .bias = slots.bias(),
                                  .hidden = slots.hidden(),
                                  .sinks = sinks_of(calls, node, 6),
                                  .scale = params.scale,
                                  .max_bias = params.max_bias,
                                  .softcap = params.softcap};
    keep_apart(calls, node, operands);
    if (is_fused(node.view(), target) && attend_fused(calls, operands, node.result())) {
      calls(kInplaceMaskedFillScalar, node.result(), slots.unseen(), 0.0F);
      if (!needs_both(calls)) return;
    }
    attend(calls, target, operands, node.result());
  }

  double rounding_error(const NodeView& view, const CannTarget& target) const override {
    return attention_error(view, view.params<PagedAttentionParams>().scale, target,
                           is_fused(view, target));
  }

 private:
  static bool is_fused(const NodeView& view, const CannTarget& target) {
    const auto& params = view.params<PagedAttentionParams>();
    const bool plain = !view.has_source(5) && !view.has_source(6) && params.max_bias == 0 &&
                       params.softcap == 0 && (target.chip->saturates || !has_several(view));
    return may_be_fused(view, plain, target);
  }
  /// Whether it may compute several sequences. A not-a-number in v times a weight of 0 is one. It
  /// must not get from a sequence to another.
  static bool has_several(const NodeView& view) { return view.source(3).shape[1].max > 1; }

  static void keep_apart(Calls& calls, const Operands& node, AttentionOperands& operands) {
    if (!has_several(node.view())) return;
    if (calls.chip().saturates) {  // results are numbers
      const View numbers = calls.temporary(operands.v.type(), operands.v.sizes());
      calls(kMuls, operands.v, 1.0F, numbers);
      operands.v = numbers;
      return;
    }
    const View v = operands.v;
    const View zeros = calls.temporary(v.type(), v.sizes());
    calls(kMuls, v, 0.0F, zeros);
    const View is_number = calls.temporary(DataType::kBool, v.sizes());
    calls(kEqTensor, zeros, zeros, is_number);
    const View is_spoiled = calls.temporary(DataType::kBool, v.sizes());
    calls(kLogicalNot, is_number, is_spoiled);
    calls(kInplaceMaskedFillScalar, v, is_spoiled, 0.0F);
    calls(kCast, is_spoiled, v.type(), zeros);
    operands.spoiled = zeros;
  }
};

}  // namespace

KernelList paged_attention_kernels() {
  return list_kernels<CannKernel, PagedAttention>();
}

}  // namespace shunt::cann
