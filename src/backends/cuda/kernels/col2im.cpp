#include "backends/cuda/kernels/col2im.h"

#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/windows.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

std::vector<LaunchPlan> plan_col2im(const NodeView& view, const gpu::Col2imArgs& params) {
  return {{.kernel = "col2im_" + type_suffix({view.source(0).dtype}),
           .items = element_count(view.result().shape),
           .per_block = 256,
           .parameters = bytes_of(params)}};
}

class Col2im1d final : public CudaKernel {
 public:
  const Op& op() const override { return col2im_1d_op(); }
  std::string_view module() const override { return "col2im"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const auto& [kernel, stride, pad, dilation] = node.view().params<Col2im1dParams>();
    return plan_col2im(node.view(), {node.common(), with_unit_dim(node.source(0), 2),
                                     with_unit_dim(node.result(), 1),
                                     gpu_window<1>({kernel}, {stride}, {pad}, {dilation})});
  }
};

class Im2colBack final : public CudaKernel {
 public:
  const Op& op() const override { return im2col_back_op(); }
  std::string_view module() const override { return "col2im"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const Im2colParams& windows = node.view().params<Im2colBackParams>().windows;
    return plan_col2im(node.view(),
                       {node.common(), node.source(0), node.result(),
                        gpu_window(windows.kernel, windows.stride, windows.pad, windows.dilation)});
  }
};

}  // namespace

KernelList col2im_kernels() {
  return list_kernels<CudaKernel, Col2im1d, Im2colBack>();
}

}  // namespace shunt::cuda
