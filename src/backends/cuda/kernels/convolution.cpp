#include "backends/cuda/kernels/convolution.h"

#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/windows.h"

namespace shunt::cuda {

namespace {

class ConvolutionKernel : public CudaKernel {
 public:
  std::string_view module() const final { return "convolution"; }
  Support supports(const NodeView&, const CudaTarget&) const final { return Support::yes(); }
  std::vector<LaunchPlan> plan(const BoundNode& node) const final {
    const NodeView& view = node.view();
    return {{.kernel = "convolution_" + type_suffix({view.source(0).dtype, view.source(1).dtype}),
             .items = element_count(view.result().shape),
             .per_block = 256,
             .parameters = bytes_of(args(node))}};
  }

 private:
  virtual gpu::ConvolutionArgs args(const BoundNode& node) const = 0;
};

/// Filters [KW, KH, C, O] or, depthwise, [KW, KH, 1, C].
gpu::ConvolutionArgs flat_convolution(const BoundNode& node, bool depthwise) {
  const auto& [stride, pad, dilation] = node.view().params<Conv2dParams>();
  const gpu::TensorArg w = node.source(0);
  const Pair kernel = {w.sizes[0].fixed, w.sizes[1].fixed};
  return {.common = node.common(),
          .w = {w.data, {w.strides[0], w.strides[1], 0}, w.strides[2], w.strides[3]},
          .x = flat_images(node.source(1)),
          .y = node.result(),
          .window = gpu_window(kernel, stride, pad, dilation),
          .channels = w.sizes[2].fixed,
          .outputs = w.sizes[3].fixed,
          .deep = 0,
          .depthwise = depthwise ? 1U : 0U};
}

class Conv2d final : public ConvolutionKernel {
 public:
  const Op& op() const override { return conv_2d_op(); }

 private:
  gpu::ConvolutionArgs args(const BoundNode& node) const override {
    return flat_convolution(node, false);
  }
};

class Conv2dDepthwise final : public ConvolutionKernel {
 public:
  const Op& op() const override { return conv_2d_dw_op(); }

 private:
  gpu::ConvolutionArgs args(const BoundNode& node) const override {
    return flat_convolution(node, true);
  }
};

class Conv3d final : public ConvolutionKernel {
 public:
  const Op& op() const override { return conv_3d_op(); }

 private:
  gpu::ConvolutionArgs args(const BoundNode& node) const override {
    const auto& [channels, stride, pad, dilation] = node.view().params<Conv3dParams>();
    const gpu::TensorArg w = node.source(0);
    const Triple kernel = {w.sizes[0].fixed, w.sizes[1].fixed, w.sizes[2].fixed};
    return {.common = node.common(),
            .w = {w.data,
                  {w.strides[0], w.strides[1], w.strides[2]},
                  w.strides[3],
                  channels * w.strides[3]},
            .x = deep_images(node.source(1), channels),
            .y = node.result(),
            .window = gpu_window(kernel, stride, pad, dilation),
            .channels = channels,
            .outputs = w.sizes[3].fixed / channels,
            .deep = 1,
            .depthwise = 0};
  }
};

}  // namespace

KernelList convolution_kernels() {
  return list_kernels<CudaKernel, Conv2d, Conv2dDepthwise, Conv3d>();
}

}  // namespace shunt::cuda
