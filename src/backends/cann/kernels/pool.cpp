#include <limits>

#include "backends/cann/kernel.h"
#include "backends/cann/windows.h"
#include "shunt/ops/convolution.h"

namespace shunt::cann {

namespace {

/// The first dimensions, one after another, in F32. Elements outside of the image are the smallest,
/// or 0.
void pool(Calls& calls, const Operands& node, Pooling pooling, std::span<const WindowAxis> axes) {
  const bool is_max = pooling == Pooling::kMax;
  const View y = node.result();
  View::Dims pads;
  std::int64_t elements = 1;  // of a window
  for (const WindowAxis& axis : axes) {
    pads.push_back(axis.pad);
    elements *= axis.kernel;
  }
  View x = calls.cast(calls.contiguous(node.source(0)), DataType::kFloat);
  x = pad_sides(calls, x, pads, is_max ? -std::numeric_limits<float>::infinity() : 0.0F);
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const View windows = windows_of(x, d, axes[d], y.size(d));
    View::Dims sizes = x.sizes();
    sizes[d] = y.size(d);
    x = windows.without(d);
    if (axes[d].kernel == 1) continue;
    x = calls.temporary(DataType::kFloat, std::move(sizes));
    if (is_max) {
      calls(kAmax, windows, {windows.vendor_dim(d)}, false, x);
    } else {
      calls(kReduceSum, windows, {windows.vendor_dim(d)}, false, DataType::kFloat, x);
    }
  }
  if (!is_max && elements > 1) {
    const View mean = calls.temporary(DataType::kFloat, x.sizes());
    calls(kDivs, x, Scalar(static_cast<double>(elements)), mean);
    x = mean;
  }
  calls.copy(y, x);
}

class Pool1d final : public CannKernel {
 public:
  const Op& op() const override { return pool_1d_op(); }
  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<Pool1dParams>();
    const WindowAxis axis = {params.kernel, params.stride, params.pad};
    pool(calls, node, params.pooling, {&axis, 1});
  }
};

class Pool2d final : public CannKernel {
 public:
  const Op& op() const override { return pool_2d_op(); }
  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<Pool2dParams>();
    const std::array axes = {WindowAxis{params.kernel[0], params.stride[0], params.pad[0]},
                             WindowAxis{params.kernel[1], params.stride[1], params.pad[1]}};
    pool(calls, node, params.pooling, axes);
  }
};

}  // namespace

KernelList pool_kernels() {
  return list_kernels<CannKernel, Pool1d, Pool2d>();
}

}  // namespace shunt::cann
