#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/convolution/window.h"

namespace shunt {

namespace {

WindowOf<3> window_of(const Triple& kernel, const Conv3dParams& params) {
  return {kernel, params.stride, params.pad, params.dilation};
}

class Conv3d final : public OpWith<Conv3dParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "conv_3d",
        .family = "convolution",
        .summary =
            "Convolution of images with depth: y[i, j, k, o + O * n] = sum over kx, ky, kz, c of "
            "w[kx, ky, kz, c + C * o] * x[i * stride + kx * dilation - pad, ..., ..., c + C * n], "
            "where x is 0 outside.",
        .sources = {"w", "x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const Conv3dParams& params) const override {
    const Tensor& w = *sources[0];
    const Tensor& x = *sources[1];
    SHUNT_TRY(expect_kernels(w));
    const WindowOf<3> window = window_of({w.size(0), w.size(1), w.size(2)}, params);
    SHUNT_ASSIGN(const Triple count, positions(window, x));
    SHUNT_ASSIGN(const Dim outputs, groups("w", w, 3, params.channels));
    SHUNT_ASSIGN(const Dim images, groups("x", x, 3, params.channels));
    SHUNT_ASSIGN(const Dim slices, checked_times(images, outputs.max));
    return contiguous(DType::kF32, {count[0], count[1], count[2], slices});
  }

  void plain_reference(RefSources sources, const Conv3dParams& params,
                       RefTensor& result) const override {
    const RefTensor& w = *sources[0];
    const RefTensor& x = *sources[1];
    const Triple kernel = {w.sizes[0], w.sizes[1], w.sizes[2]};
    const WindowOf<3> window = window_of(kernel, params);
    const std::int64_t outputs = w.sizes[3] / params.channels;
    for_each_element(result.sizes, [&](const Sizes& i) {
      const std::int64_t o = i[3] % outputs;
      const std::int64_t n = i[3] / outputs;
      double sum = 0;
      for_each_element({kernel[0], kernel[1], kernel[2], params.channels}, [&](const Sizes& k) {
        sum += w.at(k[0], k[1], k[2], k[3] + params.channels * o) *
               padded(x, window.at(0, i[0], k[0]), window.at(1, i[1], k[1]),
                      window.at(2, i[2], k[2]), k[3] + params.channels * n);
      });
      at(result, i) = sum;
    });
  }

  /// A multiplication and an addition for each element of a window.
  double operations(const Tensor& result, SourceTensors sources,
                    const Params& params) const override {
    const Tensor& w = *sources[0];
    return 2.0 * static_cast<double>(w.size(0) * w.size(1)) * static_cast<double>(w.size(2)) *
           static_cast<double>(params.get<Conv3dParams>().channels) *
           static_cast<double>(element_count(result.shape));
  }
};

}  // namespace

const Op& conv_3d_op() {
  static const Conv3d kOp;
  return kOp;
}

Result<Value> conv_3d(GraphBuilder& g, Operand w, Operand x, Conv3dParams params) {
  return g.apply(conv_3d_op(), Params::of(params), {&w, &x});
}

}  // namespace shunt
