#include "backends/cann/conversions.h"
#include "backends/cann/products.h"
#include "backends/cann/weight_parts.h"
#include "graph/storage_users.h"
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
    Support answer = can_convert(table.dtype, view.result().dtype, *target.chip);
    if (!answer &&
        is_weight(view.graph().node(view.graph().node(view.node().sources[0]).storage).role))
      return Support::yes_if(0, weight_replacement(table.dtype, *target.chip));
    return answer;
  }

  bool reads_rearranged(const NodeView& view, std::size_t source) const override {
    return source == 0 && view.source(0).size(2) == 1 && view.result().dtype == DType::kF32;
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const StoredTensor table = stored_source(node, 0);
    const StoredTensor result = stored_result(node);
    const View ids = calls.indices(node.source(1), node.content(1), table.sizes[1]);
    if (is_rearranged(node.view(), 0)) {
      const View flat = ids.reshaped({ids.elements()});
      const WeightParts rows = pick_matrices(calls, weight_parts(node, 0).rows(), flat);
      const View numbers = dequantize(calls, rows, DataType::kFloat);
      return calls.copy(node.result(), numbers.reshaped(node.result().sizes()));
    }
    const View rows = gather_rows(calls, moved_view(table, calls.chip()), ids);
    convert(calls, result, stored_in(table.type, rows));
  }
};

}  // namespace

KernelList get_rows_kernels() {
  return list_kernels<CannKernel, GetRows>();
}

}  // namespace shunt::cann
