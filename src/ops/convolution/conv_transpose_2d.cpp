#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/convolution/window.h"

namespace shunt {

namespace {

class ConvTranspose2d final : public OpWith<Conv2dParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "conv_transpose_2d",
        .family = "convolution",
        .summary =
            "Transposed convolution: y[ix, iy, o, n] = sum over all i, kx with i * stride + kx * "
            "dilation - pad = ix, all j, ky alike for iy, and over c, of w[kx, ky, o, c] * "
            "x[i, j, c, n].",
        .sources = {"w", "x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const Conv2dParams& params) const override {
    const Tensor& w = *sources[0];
    const Tensor& x = *sources[1];
    SHUNT_TRY(expect_kernels(w));
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_fixed("x", x, 2));
    SHUNT_TRY(expect_dim("w", w, 3, x.shape[2], "dimension 2 of x"));
    const Window window = {{w.size(0), w.size(1)}, params.stride, params.pad, params.dilation};
    SHUNT_ASSIGN(const Pair image, covered(window, x));
    return contiguous(DType::kF32, {image[0], image[1], w.shape[2], x.shape[3]});
  }

  void plain_reference(RefSources sources, const Conv2dParams& params,
                       RefTensor& result) const override {
    const RefTensor& w = *sources[0];
    const RefTensor& x = *sources[1];
    const Window window = {{w.sizes[0], w.sizes[1]}, params.stride, params.pad, params.dilation};
    for_each_element(w.sizes, [&](const Sizes& k) {
      for_each_element({x.sizes[0], x.sizes[1], x.sizes[3], 1}, [&](const Sizes& i) {
        const std::int64_t ix = window.at(0, i[0], k[0]);
        const std::int64_t iy = window.at(1, i[1], k[1]);
        if (ix < 0 || ix >= result.sizes[0] || iy < 0 || iy >= result.sizes[1]) return;
        result.at(ix, iy, k[2], i[2]) += at(w, k) * x.at(i[0], i[1], k[3], i[2]);
      });
    });
  }

  /// A multiplication and an addition for each element of the kernels, at each position.
  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    const Tensor& w = *sources[0];
    return 2.0 * static_cast<double>(w.size(0) * w.size(1)) * static_cast<double>(w.size(2)) *
           static_cast<double>(element_count(sources[1]->shape));
  }
};

}  // namespace

const Op& conv_transpose_2d_op() {
  static const ConvTranspose2d kOp;
  return kOp;
}

Result<Value> conv_transpose_2d(GraphBuilder& g, Operand w, Operand x, Conv2dParams params) {
  return g.apply(conv_transpose_2d_op(), Params::of(params), {&w, &x});
}

}  // namespace shunt
