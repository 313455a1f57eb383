#include "backends/cann/conversions.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/rows.h"

namespace shunt::cann {

namespace {

/// Only the rows that are asked for are decoded.
class GetRows final : public CannKernel {
 public:
  const Op& op() const override { return get_rows_op(); }

  bool needs_bf16() const override { return false; }
  Support accepts(const NodeView& view, const CannTarget& target) const override {
    const Tensor& table = view.source(0);
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    if (element_count({table.shape[1], table.shape[2], table.shape[3]}) >= kMost)
      return Support::no(Refusal::kShape, "the table has more rows than 32 bits can count");
    return can_convert(table.dtype, view.result().dtype, *target.chip);
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const StoredTensor table = stored_source(node, 0);
    const StoredTensor result = stored_result(node);
    const View ids = calls.indices(node.source(1), node.source_id(1), table.sizes[1]);
    const View rows = gather_rows(calls, moved_view(table, calls.chip()), ids);
    convert(calls, result, stored_in(table.type, rows));
  }
};

}  // namespace

KernelList get_rows_kernels() {
  return list_kernels<CannKernel, GetRows>();
}

}  // namespace shunt::cann
