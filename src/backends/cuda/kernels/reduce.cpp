#include "backends/cuda/kernels/reduce.h"

#include <array>

#include "backend_support/kernel_rows.h"
#include "backends/cuda/kernel.h"
#include "base/ceil_div.h"
#include "shunt/ops/reduce.h"

namespace shunt::cuda {

namespace {

struct ReduceRow {
  const Op& (*op)();
  const char* kernel;
  bool mean = false;
};
constexpr std::array kReduceRows = {ReduceRow{sum_rows_op, "sum_rows_"},
                                    ReduceRow{mean_op, "sum_rows_", true},
                                    ReduceRow{cumsum_op, "cumsum_"}};

class ReduceRows final : public CudaKernel {
 public:
  explicit ReduceRows(const ReduceRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  std::string_view module() const override { return "reduce"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const Tensor& x = node.view().source(0);
    const gpu::ReduceRowsArgs params = {node.common(), node.source(0), node.result(),
                                        row_.mean ? 1U : 0U};
    return {{.kernel = row_.kernel + type_suffix({x.dtype}),
             .items = row_count(x),
             .threads = threads_for_row(x),
             .parameters = bytes_of(params)}};
  }

 private:
  const ReduceRow& row_;
};

class Sum final : public CudaKernel {
 public:
  const Op& op() const override { return sum_op(); }
  std::string_view module() const override { return "reduce"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::size_t scratch(const NodeView& node, const CudaTarget&) const override {
    return static_cast<std::size_t>(parts(node)) * sizeof(float);
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const gpu::ReduceAllArgs params = {
        node.common(), node.source(0), node.result(), {node.scratch().address}};
    const std::string type = type_suffix({node.view().source(0).dtype});
    return {{.kernel = "sum_parts_" + type,
             .items = parts(node.view()),
             .parameters = bytes_of(params)},
            {.kernel = "sum_of_parts_" + type, .items = 1, .parameters = bytes_of(params)}};
  }

 private:
  static std::int64_t parts(const NodeView& node) {
    return ceil_div(element_count(node.source(0).shape), gpu::kReducePart);
  }
};

}  // namespace

KernelList reduce_kernels() {
  static const KernelRows<ReduceRows, CudaKernel> rows(kReduceRows);
  static const Sum kSum;
  static const std::vector<const CudaKernel*> list = [] {
    std::vector<const CudaKernel*> all(rows.list().begin(), rows.list().end());
    all.push_back(&kSum);
    return all;
  }();
  return list;
}

}  // namespace shunt::cuda
