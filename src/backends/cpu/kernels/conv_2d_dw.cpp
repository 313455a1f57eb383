#include "backends/cpu/kernels/window.h"

namespace shunt::cpu {

namespace {

/// An item is a row of the result, to which one element of the kernel after the other adds.
class Conv2dDepthwise final : public RowKernel {
 public:
  const Op& op() const override { return conv_2d_dw_op(); }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return static_cast<std::size_t>(node.source(0).size(0)) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto& params = call.params->get<Conv2dParams>();
    const TensorArg& w = call.sources[0];
    const Image image(call.sources[1], {w.sizes[0], w.sizes[1]}, params.stride, params.pad,
                      params.dilation);
    const std::int64_t width = call.result.sizes[0];
    float* kernel = as_f32(scratch);
    for_each_row(call.result.sizes, begin, end, [&](const RowIndex& at) {
      float* y = as_f32(row_data(call.result, at));
      std::fill_n(y, width, 0.0F);
      for (std::int64_t ky = 0; ky < w.sizes[1]; ++ky) {
        const std::int64_t iy = image.y().at(at.i1, ky);
        if (!image.y().inside(iy)) continue;
        const std::byte* from = image.row(iy, at.i2, at.i3);
        read_f32(w, w.row(ky, 0, at.i2), 0, w.sizes[0], kernel);
        for (std::int64_t kx = 0; kx < w.sizes[0]; ++kx) {
          const Axis::Range range = image.x().positions(kx, width);
          for (std::int64_t i = range.first; i < range.last; ++i) {
            y[i] += kernel[kx] * image.load(from, image.x().at(i, kx));
          }
        }
      }
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList conv_2d_dw_kernels() {
  return list_kernels<CpuKernel, Conv2dDepthwise>();
}

}  // namespace shunt::cpu
