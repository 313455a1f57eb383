#include "shunt/ops/rows.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/rows.h"

namespace shunt::cuda {

namespace {

class SetRows final : public CudaKernel {
 public:
  const Op& op() const override { return set_rows_op(); }
  std::string_view module() const override { return "rows"; }
  Support supports(const NodeView& node, const CudaTarget&) const override {
    Support to = expect_types("a cache", node.source(0).dtype, kSingleTypes);
    return to ? expect_types("rows", node.source(1).dtype, kSingleTypes) : to;
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const gpu::SetRowsArgs params = {node.common(), node.source(1), node.source(2), node.result()};
    return {{.kernel = "set_rows_" + type_suffix({view.source(0).dtype, view.source(1).dtype,
                                                  view.source(2).dtype}),
             .items = view.source(1).size(0) == 0 ? 0 : row_count(view.source(1)),
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList rows_kernels() {
  return list_kernels<CudaKernel, SetRows>();
}

}  // namespace shunt::cuda
