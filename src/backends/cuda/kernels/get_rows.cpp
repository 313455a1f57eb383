#include "backends/cuda/kernels/get_rows.h"
#include "backends/cuda/kernel.h"
#include "shunt/ops/rows.h"

namespace shunt::cuda {

namespace {

class GetRows final : public CudaKernel {
 public:
  const Op& op() const override { return get_rows_op(); }
  std::string_view module() const override { return "get_rows"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const DType type = view.source(0).dtype;
    const bool copies = type == view.result().dtype;
    const gpu::GetRowsArgs params = {node.common(), node.source(0), node.ids(1), node.result()};
    return {{.kernel = "get_rows_" +
                       (copies ? std::to_string(trait(type).block_bytes) : type_suffix({type})),
             .items = element_count(view.result().shape) / elements_read_at_once(type),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList get_rows_kernels() {
  return list_kernels<CudaKernel, GetRows>();
}

}  // namespace shunt::cuda
