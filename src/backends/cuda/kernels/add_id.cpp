#include "backends/cuda/kernels/add_id.h"
#include "backends/cuda/kernel.h"
#include "shunt/ops/elementwise.h"

namespace shunt::cuda {

namespace {

class AddId final : public CudaKernel {
 public:
  const Op& op() const override { return add_id_op(); }
  std::string_view module() const override { return "add_id"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const gpu::AddIdArgs params = {node.common(), node.source(0), node.source(1), node.ids(2),
                                   node.result()};
    return {{.kernel = "add_id_" + type_suffix({view.source(0).dtype, view.source(1).dtype}),
             .items = element_count(view.result().shape),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList add_id_kernels() {
  return list_kernels<CudaKernel, AddId>();
}

}  // namespace shunt::cuda
