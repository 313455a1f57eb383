#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/convolution/window.h"

namespace shunt {

namespace {

Window window_of(std::int64_t width, std::int64_t height, const Conv2dParams& params) {
  return {{width, height}, params.stride, params.pad, params.dilation};
}

class Conv2d final : public OpWith<Conv2dParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "conv_2d",
        .family = "convolution",
        .summary =
            "Convolution of images with kernels over all channels: y[i, j, o, n] = sum over kx, "
            "ky, c of w[kx, ky, c, o] * x[i * stride + kx * dilation - pad, ..., c, n], where x is "
            "0 outside.",
        .sources = {"w", "x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const Conv2dParams& params) const override {
    const Tensor& w = *sources[0];
    const Tensor& x = *sources[1];
    SHUNT_TRY(expect_kernels(w));
    SHUNT_TRY(expect_fixed("x", x, 2));
    SHUNT_ASSIGN(const Pair count, positions(window_of(w.size(0), w.size(1), params), x));
    SHUNT_TRY(expect_dim("w", w, 2, x.shape[2], "dimension 2 of x"));
    return contiguous(DType::kF32, {count[0], count[1], w.shape[3], x.shape[3]});
  }

  void plain_reference(RefSources sources, const Conv2dParams& params,
                       RefTensor& result) const override {
    const RefTensor& w = *sources[0];
    const RefTensor& x = *sources[1];
    const Window window = window_of(w.sizes[0], w.sizes[1], params);
    for_each_element(result.sizes, [&](const Sizes& i) {
      double sum = 0;
      for (std::int64_t c = 0; c < x.sizes[2]; ++c) {
        for (std::int64_t ky = 0; ky < w.sizes[1]; ++ky) {
          for (std::int64_t kx = 0; kx < w.sizes[0]; ++kx) {
            sum += w.at(kx, ky, c, i[2]) *
                   padded(x, window.at(0, i[0], kx), window.at(1, i[1], ky), c, i[3]);
          }
        }
      }
      at(result, i) = sum;
    });
  }

  /// A multiplication and an addition for each element of a window.
  double operations(const Tensor& result, SourceTensors sources, const Params&) const override {
    const Tensor& w = *sources[0];
    return 2.0 * static_cast<double>(w.size(0) * w.size(1)) * static_cast<double>(w.size(2)) *
           static_cast<double>(element_count(result.shape));
  }
};

}  // namespace

const Op& conv_2d_op() {
  static const Conv2d kOp;
  return kOp;
}

Result<Value> conv_2d(GraphBuilder& g, Operand w, Operand x, Conv2dParams params) {
  return g.apply(conv_2d_op(), Params::of(params), {&w, &x});
}

}  // namespace shunt
