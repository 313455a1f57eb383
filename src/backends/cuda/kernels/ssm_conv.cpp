#include "backends/cuda/kernels/ssm_conv.h"

#include "backends/cuda/kernel.h"
#include "shunt/ops/state.h"

namespace shunt::cuda {

namespace {

class SsmConv final : public CudaKernel {
 public:
  const Op& op() const override { return ssm_conv_op(); }
  std::string_view module() const override { return "ssm_conv"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const gpu::SsmConvArgs params = {
        .common = node.common(),
        .ids = node.ids(3),
        .x = node.source(0),
        .w = node.source(1),
        .states = node.source(2),
        .ends = node.source(4),
        .y = node.result(),
        .given = {view.has_source(3) ? 1U : 0U, view.has_source(4) ? 1U : 0U},
        .output_rows = view.source(0).size(1)};
    return {{.kernel = "ssm_conv",
             .items = element_count(view.result().shape),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList ssm_conv_kernels() {
  return list_kernels<CudaKernel, SsmConv>();
}

}  // namespace shunt::cuda
