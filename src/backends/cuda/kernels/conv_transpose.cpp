#include "backends/cuda/kernels/conv_transpose.h"

#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/windows.h"

namespace shunt::cuda {

namespace {

std::vector<LaunchPlan> plan_conv_transpose(const NodeView& view,
                                            const gpu::ConvTransposeArgs& params) {
  return {{.kernel = "conv_transpose_" + type_suffix({view.source(0).dtype, view.source(1).dtype}),
           .items = element_count(view.result().shape),
           .per_block = 256,
           .parameters = bytes_of(params)}};
}

class ConvTranspose1d final : public CudaKernel {
 public:
  const Op& op() const override { return conv_transpose_1d_op(); }
  std::string_view module() const override { return "conv_transpose"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const auto& [stride, pad, dilation] = node.view().params<Conv1dParams>();
    const std::array kernel = {node.view().source(0).size(0)};
    return plan_conv_transpose(
        node.view(),
        {node.common(), with_unit_dim(node.source(0), 1), with_unit_dim(node.source(1), 1),
         with_unit_dim(node.result(), 1), gpu_window<1>(kernel, {stride}, {pad}, {dilation})});
  }
};

class ConvTranspose2d final : public CudaKernel {
 public:
  const Op& op() const override { return conv_transpose_2d_op(); }
  std::string_view module() const override { return "conv_transpose"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const auto& [stride, pad, dilation] = node.view().params<Conv2dParams>();
    const Pair kernel = {node.view().source(0).size(0), node.view().source(0).size(1)};
    return plan_conv_transpose(node.view(),
                               {node.common(), node.source(0), node.source(1), node.result(),
                                gpu_window(kernel, stride, pad, dilation)});
  }
};

}  // namespace

KernelList conv_transpose_kernels() {
  return list_kernels<CudaKernel, ConvTranspose1d, ConvTranspose2d>();
}

}  // namespace shunt::cuda
