#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/convolution/window.h"
#include "ops/training/training.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

Window window_of(const Im2colParams& params) {
  return {params.kernel, params.stride, params.pad, params.dilation};
}

class Im2col final : public Differentiable<Im2colParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "im2col",
        .family = "convolution",
        .summary =
            "Each window of an image as a row: y[kx + KW * (ky + KH * c), i, j, n] = "
            "x[i * stride + kx * dilation - pad, ..., c, n], where x is 0 outside.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const Im2colParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_ASSIGN(const Pair count, positions(window_of(params), x));
    SHUNT_TRY(expect_fixed("x", x, 2));
    SHUNT_TRY(expect_float_type("type", params.type));
    // Within 62 bits, then perhaps not.
    std::int64_t columns = params.kernel[0] * params.kernel[1];
    if (!multiply_into(&columns, x.size(2))) return invalid("a window has too many elements");
    return contiguous(params.type, {columns, count[0], count[1], x.shape[3]});
  }

  void plain_reference(RefSources sources, const Im2colParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    const Window window = window_of(params);
    for_each_element(result.sizes, [&](const Sizes& i) {
      const std::int64_t kx = i[0] % window.kernel[0];
      const std::int64_t ky = i[0] / window.kernel[0] % window.kernel[1];
      const std::int64_t c = i[0] / (window.kernel[0] * window.kernel[1]);
      at(result, i) = padded(x, window.at(0, i[1], kx), window.at(1, i[2], ky), c, i[3]);
    });
  }

  Status gradient_rule(Backward& node, const Im2colParams& params) const override {
    const Shape x = node.shape(0);
    SHUNT_TRY(expect_fixed_for(x[0], "dimension 0 of x"));
    SHUNT_TRY(expect_fixed_for(x[1], "dimension 1 of x"));
    return node.add_gradient(0, im2col_back(node.g, node.dy(), {params, {x[0].max, x[1].max}}));
  }
};

}  // namespace

const Op& im2col_op() {
  static const Im2col kOp;
  return kOp;
}

Result<Value> im2col(GraphBuilder& g, Operand x, Im2colParams params) {
  return g.apply(im2col_op(), Params::of(params), {&x});
}

}  // namespace shunt
