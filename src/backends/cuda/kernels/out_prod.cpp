#include "backends/cuda/kernels/out_prod.h"
#include "backends/cuda/kernel.h"
#include "base/ceil_div.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

class OutProd final : public CudaKernel {
 public:
  const Op& op() const override { return out_prod_op(); }
  std::string_view module() const override { return "out_prod"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const Tensor& y = view.result();
    const DType type = view.source(0).dtype;
    const gpu::OutProdArgs params = {node.common(), node.source(0), node.source(1), node.result()};
    return {{.kernel = "out_prod_" + type_suffix({type}),
             .items = y.size(0) / elements_read_at_once(type) *
                      ceil_div(y.size(1), gpu::kOutProdRows) * y.size(2) * y.size(3),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList out_prod_kernels() {
  return list_kernels<CudaKernel, OutProd>();
}

}  // namespace shunt::cuda
