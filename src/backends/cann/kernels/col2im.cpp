#include <fmt/format.h>

#include "backends/cann/kernel.h"
#include "backends/cann/windows.h"
#include "shunt/ops/convolution.h"
#include "shunt/ops/training.h"

namespace shunt::cann {

namespace {

/// Windows are added with a call for each stride that they reach over.
constexpr std::int64_t kMostSums = 2048;

Support expect_few_sums(std::int64_t sums) {
  if (sums <= kMostSums) return Support::yes();
  return Support::no(Refusal::kParameter,
                     fmt::format("a window reaches over {} strides; at most {}", sums, kMostSums));
}

class Col2im1d final : public CannKernel {
 public:
  const Op& op() const override { return col2im_1d_op(); }

  Support accepts(const NodeView& view, const CannTarget& target) const override {
    const Support few = expect_few_sums(sums_of_windows(axis_of(view.params<Col2im1dParams>())));
    return few ? CannKernel::accepts(view, target) : few;
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const WindowAxis axis = axis_of(node.params<Col2im1dParams>());
    const View x = calls.cast(calls.contiguous(node.source(0)), DataType::kFloat);
    const View y = node.result();
    // [K, positions, C, N]
    const View windows = x.without(3).split(0, axis.kernel).permuted({0, 2, 1, 3});
    calls.copy(y.without(3), add_windows(calls, windows, axis, y.size(0)));
  }

 private:
  static WindowAxis axis_of(const Col2im1dParams& params) {
    return {params.kernel, params.stride, params.pad, params.dilation};
  }
};

/// Along x, then along y.
class Im2colBack final : public CannKernel {
 public:
  const Op& op() const override { return im2col_back_op(); }

  Support accepts(const NodeView& view, const CannTarget& target) const override {
    const auto& params = view.params<Im2colBackParams>();
    const Support few =
        expect_few_sums(sums_of_windows(axis_of(params, 0)) + sums_of_windows(axis_of(params, 1)));
    return few ? CannKernel::accepts(view, target) : few;
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<Im2colBackParams>();
    const WindowAxis along_x = axis_of(params, 0), along_y = axis_of(params, 1);
    const View dx = node.result();
    // KW, KH, C, x, y, N
    const View dy = node.source(0).split(0, along_x.kernel).split(1, along_y.kernel);
    const View rows =  // W, KH, y, C, N
        add_windows(calls, dy.permuted({0, 3, 1, 4, 2, 5}), along_x, dx.size(0));
    const View image =  // H, W, C, N
        add_windows(calls, rows.permuted({1, 2, 0, 3, 4}), along_y, dx.size(1));
    calls.copy(dx, image.permuted({1, 0, 2, 3}));
  }

 private:
  static WindowAxis axis_of(const Im2colBackParams& params, std::size_t axis) {
    const Im2colParams& windows = params.windows;
    return {windows.kernel[axis], windows.stride[axis], windows.pad[axis], windows.dilation[axis]};
  }
};

}  // namespace

KernelList col2im_kernels() {
  return list_kernels<CannKernel, Col2im1d, Im2colBack>();
}

}  // namespace shunt::cann
