#include "backends/cuda/kernels/im2col.h"

#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/windows.h"

namespace shunt::cuda {

namespace {

std::vector<LaunchPlan> plan_im2col(const NodeView& view, const gpu::Im2colArgs& params) {
  return {{.kernel = "im2col_" + type_suffix({view.source(0).dtype, view.result().dtype}),
           .items = element_count(view.result().shape),
           .per_block = 256,
           .parameters = bytes_of(params)}};
}

class Im2col final : public CudaKernel {
 public:
  const Op& op() const override { return im2col_op(); }
  std::string_view module() const override { return "im2col"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const auto& [kernel, stride, pad, dilation, type] = node.view().params<Im2colParams>();
    return plan_im2col(node.view(), {node.common(), flat_images(node.source(0)), node.result(),
                                     gpu_window(kernel, stride, pad, dilation), 1});
  }
};

class Im2col3d final : public CudaKernel {
 public:
  const Op& op() const override { return im2col_3d_op(); }
  std::string_view module() const override { return "im2col"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const auto& [channels, kernel, stride, pad, dilation, type] =
        node.view().params<Im2col3dParams>();
    const gpu::Window window = gpu_window(kernel, stride, pad, dilation);
    const gpu::Images x = deep_images(node.source(0), channels);
    return plan_im2col(node.view(), {node.common(), x, node.result(), window,
                                     gpu::count_positions(window, 2, x.size[2])});
  }
};

}  // namespace

KernelList im2col_kernels() {
  return list_kernels<CudaKernel, Im2col, Im2col3d>();
}

}  // namespace shunt::cuda
