#include "backends/cuda/kernels/sort.h"

#include <algorithm>
#include <array>

#include "backend_support/kernel_rows.h"
#include "backends/cuda/kernel.h"
#include "shunt/ops/order.h"

namespace shunt::cuda {

namespace {

bool argsort_descends(const NodeView& node) {
  return node.params<ArgsortParams>().order == SortOrder::kDescending;
}
bool top_k_descends(const NodeView&) {
  return true;
}

struct SortRow {
  const Op& (*op)();
  bool (*descends)(const NodeView& node);
};
constexpr std::array kSortRows = {SortRow{argsort_op, argsort_descends},
                                  SortRow{top_k_op, top_k_descends}};

class Sort final : public CudaKernel {
 public:
  explicit Sort(const SortRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  std::string_view module() const override { return "sort"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::size_t scratch(const NodeView& node, const CudaTarget&) const override {
    const Tensor& x = node.source(0);
    if (x.size(0) <= gpu::kSortChunk) return 0;
    return static_cast<std::size_t>(slots(x) * slot_bytes(x));
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const Tensor& x = node.view().source(0);
    const gpu::SortArgs params = {node.common(),
                                  node.source(0),
                                  node.result(),
                                  {node.scratch().address},
                                  slots(x),
                                  x.size(0),
                                  row_.descends(node.view()) ? 1U : 0U};
    return {{.kernel = "sort_" + type_suffix({x.dtype}),
             .items = x.size(0) == 0 ? 0 : slots(x),
             .threads = threads_for_row(x),
             .parameters = bytes_of(params)}};
  }

 private:
  static std::int64_t slot_bytes(const Tensor& x) {
    return 2 * x.size(0) * static_cast<std::int64_t>(sizeof(gpu::u64));
  }
  /// All rows at once where they need no scratch, else as many as the device may have use for.
  static std::int64_t slots(const Tensor& x) {
    constexpr std::int64_t kMostSlots = 256, kMostBytes = 64 << 20;
    const std::int64_t rows = row_count(x);
    if (x.size(0) <= gpu::kSortChunk) return rows;
    return std::min({rows, kMostSlots, std::max<std::int64_t>(kMostBytes / slot_bytes(x), 1)});
  }

  const SortRow& row_;
};

}  // namespace

KernelList sort_kernels() {
  static const KernelRows<Sort, CudaKernel> kernels(kSortRows);
  return kernels.list();
}

}  // namespace shunt::cuda
