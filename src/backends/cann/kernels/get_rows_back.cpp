#include <fmt/format.h>

#include "backends/cann/kernel.h"
#include "backends/cann/whole.h"
#include "shunt/ops/training.h"

namespace shunt::cann {

namespace {

/// One row of dy after another is added to its row of the result: the vendor has no operator that
/// adds rows of equal numbers in a fixed order.
class GetRowsBack final : public CannKernel {
 public:
  const Op& op() const override { return get_rows_back_op(); }

  Support accepts(const NodeView& view, const CannTarget& target) const override {
    constexpr std::int64_t kMostRows = 8192;
    if (view.source(0).size(1) <= kMostRows) return CannKernel::accepts(view, target);
    return Support::no(Refusal::kCost, fmt::format("takes {} operators of CANN, 3 for each row",
                                                   3 * view.source(0).size(1)));
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    write_whole(calls, node.result().without(3).without(2), [&](const View& dx) {
      calls.fill(dx, 0.0F);
      const View dy = calls.contiguous(node.source(0).without(3).without(2));
      if (dy.is_empty()) return;
      const View ids = calls.indices(node.source(1), node.content(1), dx.size(1));
      const View row = calls.temporary(dx.type(), {dx.size(0), 1});
      const View sum = calls.temporary(dx.type(), row.sizes());
      for (std::int64_t i = 0; i < dy.size(1); ++i) {
        const View at = ids.sliced(0, i, 1).reshaped({1});
        calls(kGatherV2, dx, dx.vendor_dim(1), at, row);
        calls(kAdd, row, dy.sliced(1, i, 1), 1.0F, sum);
        calls(kInplaceIndexCopy, dx, dx.vendor_dim(1), at, sum);
      }
    });
  }
};

}  // namespace

KernelList get_rows_back_kernels() {
  return list_kernels<CannKernel, GetRowsBack>();
}

}  // namespace shunt::cann
