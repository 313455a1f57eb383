#include "backends/cann/kernel.h"
#include "backends/cann/windows.h"
#include "shunt/ops/convolution.h"

namespace shunt::cann {

namespace {

template <class OpParams>
WindowAxis im2col_axis(const OpParams& params, std::size_t axis) {
  return {params.kernel[axis], params.stride[axis], params.pad[axis], params.dilation[axis]};
}

/// A copy of overlapping windows.
class Im2col final : public CannKernel {
 public:
  const Op& op() const override { return im2col_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<Im2colParams>();
    const View y = node.result();
    if (node.source(0).is_empty()) return calls.fill(y, Scalar(0.0F));
    const View x = pad_sides(calls, node.source(0), params.pad, 0);
    View windows = windows_of(x, 1, im2col_axis(params, 1), y.size(2));
    windows = windows_of(windows, 0, im2col_axis(params, 0), y.size(1));
    windows = windows.permuted({0, 2, 4, 1, 3, 5});  // KW, KH, C, x, y, N
    calls.copy(y.reshaped(windows.sizes()), windows);
  }
};

class Im2col3d final : public CannKernel {
 public:
  const Op& op() const override { return im2col_3d_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<Im2col3dParams>();
    const View y = node.result();
    if (node.source(0).is_empty()) return calls.fill(y, Scalar(0.0F));
    const View x = pad_sides(calls, node.source(0), params.pad, 0).split(3, params.channels);
    const std::int64_t images = x.size(4);
    View windows = windows_of(x, 2, im2col_axis(params, 2), y.size(3) / images);
    windows = windows_of(windows, 1, im2col_axis(params, 1), y.size(2));
    windows = windows_of(windows, 0, im2col_axis(params, 0), y.size(1));
    windows = windows.permuted({0, 2, 4, 6, 1, 3, 5, 7});  // KW, KH, KD, C, x, y, z, N
    calls.copy(y.reshaped(windows.sizes()), windows);
  }
};

}  // namespace

KernelList im2col_kernels() {
  return list_kernels<CannKernel, Im2col, Im2col3d>();
}

}  // namespace shunt::cann
