#include <cmath>
#include <numeric>

#include "backends/cpu/kernels/rows.h"
#include "shunt/ops/order.h"

namespace shunt::cpu {

namespace {

/// The order of indices by their values. Not-a-number must not be compared, or there is no order.
struct Before {
  const float* x;
  bool descending;
  bool operator()(std::int32_t i, std::int32_t j) const {
    const float a = x[i];
    const float b = x[j];
    if (std::isnan(a) || std::isnan(b)) {
      return std::isnan(a) == std::isnan(b) ? i < j : std::isnan(b);
    }
    if (a != b) return descending ? a > b : a < b;
    return i < j;
  }
};

/// argsort and top_k: an item is a row, whose first indices in order are the result.
class Sort final : public AnyCaseKernel {
 public:
  Sort(const Op& op, bool (*descending)(const Params& params)) : op_(op), descending_(descending) {}
  const Op& op() const override { return op_; }
  std::int64_t items(const Call& call, int) const override { return call.result.rows(); }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(call.sources[0].sizes[0]);
  }
  /// All indices, then the row.
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    const std::int64_t n = node.source(0).size(0);
    return static_cast<std::size_t>(n) * sizeof(std::int32_t) + view_f32_bytes(node.source(0), n);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& x = call.sources[0];
    const std::int64_t n = x.sizes[0];
    const std::int64_t wanted = call.result.sizes[0];
    auto* indices = reinterpret_cast<std::int32_t*>(scratch);
    auto* room = reinterpret_cast<float*>(indices + n);
    const bool descending = descending_(*call.params);
    for_each_row(x.sizes, begin, end, [&](const RowIndex& at) {
      const Before before{view_f32(x, row_data(x, at), 0, n, room), descending};
      std::iota(indices, indices + n, 0);
      if (wanted == n) {
        std::sort(indices, indices + n, before);
      } else {
        std::partial_sort(indices, indices + wanted, indices + n, before);
      }
      std::memcpy(row_data(call.result, at), indices,
                  static_cast<std::size_t>(wanted) * sizeof(std::int32_t));
    });
    return Fault::kNone;
  }

 private:
  const Op& op_;
  bool (*descending_)(const Params& params);
};

}  // namespace

KernelList sort_kernels() {
  static const Sort kArgsort(argsort_op(), [](const Params& params) {
    return params.get<ArgsortParams>().order == SortOrder::kDescending;
  });
  static const Sort kTopK(top_k_op(), [](const Params&) { return true; });
  static constexpr const CpuKernel* kKernels[] = {&kArgsort, &kTopK};
  return kKernels;
}

}  // namespace shunt::cpu
