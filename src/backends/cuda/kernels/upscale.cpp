#include "backends/cuda/kernels/upscale.h"

#include "backends/cuda/kernel.h"
#include "shunt/ops/data.h"

namespace shunt::cuda {

namespace {

class Upscale final : public CudaKernel {
 public:
  const Op& op() const override { return upscale_op(); }
  std::string_view module() const override { return "upscale"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const auto& upscale = node.view().params<UpscaleParams>();
    const gpu::UpscaleArgs params = {node.common(),
                                     node.source(0),
                                     node.result(),
                                     mode_of(upscale.interpolation),
                                     upscale.align_corners ? 1U : 0U,
                                     upscale.antialias ? 1U : 0U};
    const Tensor& y = node.view().result();
    return {{.kernel = "upscale_" + type_suffix({y.dtype}),
             .items = element_count(y.shape),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }

 private:
  static gpu::UpscaleMode mode_of(Interpolation interpolation) {
    switch (interpolation) {
      case Interpolation::kBilinear:
        return gpu::kBilinear;
      case Interpolation::kBicubic:
        return gpu::kBicubic;
      default:
        return gpu::kNearest;
    }
  }
};

}  // namespace

KernelList upscale_kernels() {
  return list_kernels<CudaKernel, Upscale>();
}

}  // namespace shunt::cuda
