#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/convolution/window.h"

namespace shunt {

namespace {

class ConvTranspose1d final : public OpWith<Conv1dParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "conv_transpose_1d",
        .family = "convolution",
        .summary =
            "Transposed convolution of signals: y[i, o, n] = sum over all j, k with j * stride + "
            "k * dilation - pad = i, and over c, of w[k, o, c] * x[j, c, n].",
        .sources = {"w", "x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const Conv1dParams& params) const override {
    const Tensor& w = *sources[0];
    const Tensor& x = *sources[1];
    SHUNT_TRY(expect_kernels(w));
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_dims("w", w, 3));
    SHUNT_TRY(expect_dims("x", x, 3));
    SHUNT_TRY(expect_fixed("x", x, 1));
    SHUNT_TRY(expect_dim("w", w, 2, x.shape[1], "dimension 1 of x"));
    const WindowOf<1> window = {{w.size(0)}, {params.stride}, {params.pad}, {params.dilation}};
    SHUNT_ASSIGN(const auto length, covered(window, x));
    return contiguous(DType::kF32, {length[0], w.shape[1], x.shape[2], 1});
  }

  void plain_reference(RefSources sources, const Conv1dParams& params,
                       RefTensor& result) const override {
    const RefTensor& w = *sources[0];
    const RefTensor& x = *sources[1];
    for_each_element(w.sizes, [&](const Sizes& k) {
      for_each_element({x.sizes[0], x.sizes[2], 1, 1}, [&](const Sizes& j) {
        const std::int64_t i = j[0] * params.stride + k[0] * params.dilation - params.pad;
        if (i < 0 || i >= result.sizes[0]) return;
        result.at(i, k[1], j[1]) += at(w, k) * x.at(j[0], k[2], j[1]);
      });
    });
  }

  /// A multiplication and an addition for each element of the kernels, at each position.
  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    const Tensor& w = *sources[0];
    return 2.0 * static_cast<double>(w.size(0)) * static_cast<double>(w.size(1)) *
           static_cast<double>(element_count(sources[1]->shape));
  }
};

}  // namespace

const Op& conv_transpose_1d_op() {
  static const ConvTranspose1d kOp;
  return kOp;
}

Result<Value> conv_transpose_1d(GraphBuilder& g, Operand w, Operand x, Conv1dParams params) {
  return g.apply(conv_transpose_1d_op(), Params::of(params), {&w, &x});
}

}  // namespace shunt
