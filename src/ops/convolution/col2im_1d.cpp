#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/convolution/window.h"

namespace shunt {

namespace {

class Col2im1d final : public OpWith<Col2im1dParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "col2im_1d",
        .family = "convolution",
        .summary =
            "Adds up windows of a signal where they overlap: y[i, c, n] = sum over all j, k with "
            "j * stride + k * dilation - pad = i of x[k + K * c, j, n].",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const Col2im1dParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_type("x", x, {DType::kF32, DType::kF16, DType::kBF16}));
    SHUNT_TRY(expect_dims("x", x, 3));
    const WindowOf<1> window = {{params.kernel}, {params.stride}, {params.pad}, {params.dilation}};
    SHUNT_ASSIGN(const auto length, covered(window, x, 1));
    SHUNT_TRY(expect_fixed("x", x, 0));
    if (x.size(0) % params.kernel != 0) {
      return invalid("dimension 0 of x is {}, which is not a multiple of the kernel's {} elements",
                     x.size(0), params.kernel);
    }
    return contiguous(DType::kF32, {length[0], x.size(0) / params.kernel, x.shape[2], 1});
  }

  void plain_reference(RefSources sources, const Col2im1dParams& params,
                       RefTensor& result) const override {
    for_each_element(sources[0]->sizes, [&](const Sizes& at_x) {
      const std::int64_t k = at_x[0] % params.kernel;
      const std::int64_t i = at_x[1] * params.stride + k * params.dilation - params.pad;
      if (i < 0 || i >= result.sizes[0]) return;
      result.at(i, at_x[0] / params.kernel, at_x[2]) += at(*sources[0], at_x);
    });
  }

  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return static_cast<double>(element_count(sources[0]->shape));
  }
};

}  // namespace

const Op& col2im_1d_op() {
  static const Col2im1d kOp;
  return kOp;
}

Result<Value> col2im_1d(GraphBuilder& g, Operand x, Col2im1dParams params) {
  return g.apply(col2im_1d_op(), Params::of(params), {&x});
}

}  // namespace shunt
