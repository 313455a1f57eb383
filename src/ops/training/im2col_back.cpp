#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/convolution/window.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

Window window_of(const Im2colBackParams& params) {
  const Im2colParams& windows = params.windows;
  return {windows.kernel, windows.stride, windows.pad, windows.dilation};
}

class Im2colBack final : public OpWith<Im2colBackParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "im2col_back",
        .family = "training",
        .summary =
            "Gradient of im2col: dx[ix, iy, c, n] is the sum of dy[kx + KW * (ky + KH * c), i, j, "
            "n] over "
            "all windows (i, j) and places (kx, ky) in them that meet it. All floats are F32.",
        .sources = {"dy"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources,
                              const Im2colBackParams& params) const override {
    const Tensor& dy = *sources[0];
    SHUNT_TRY(expect_type("dy", dy, {DType::kF32}));
    const auto& [width, height] = params.image;
    if (width < 0 || height < 0) {
      return invalid("image is [{}, {}], which is negative", width, height);
    }
    const Tensor image = {DType::kF32, {width, height, 1, 1}, {}};
    SHUNT_ASSIGN(const Pair count, positions(window_of(params), image));
    SHUNT_TRY(expect_dim("dy", dy, 1, count[0], "the number of positions along x"));
    SHUNT_TRY(expect_dim("dy", dy, 2, count[1], "the number of positions along y"));
    const Dim& columns = dy.shape[0];
    const std::int64_t kernel = params.windows.kernel[0] * params.windows.kernel[1];
    if (!columns.is_fixed() || columns.max % kernel != 0) {
      return invalid("dimension 0 of dy is {}, which is not a multiple of the kernel's {} elements",
                     to_string(columns), kernel);
    }
    return contiguous(DType::kF32, {width, height, columns.max / kernel, dy.shape[3]});
  }

  void plain_reference(RefSources sources, const Im2colBackParams& params,
                       RefTensor& result) const override {
    const Window window = window_of(params);
    for_each_element(sources[0]->sizes, [&](const Sizes& i) {
      const std::int64_t ix = window.at(0, i[1], i[0] % window.kernel[0]);
      const std::int64_t iy = window.at(1, i[2], i[0] / window.kernel[0] % window.kernel[1]);
      const std::int64_t c = i[0] / (window.kernel[0] * window.kernel[1]);
      if (ix < 0 || ix >= result.sizes[0] || iy < 0 || iy >= result.sizes[1]) return;
      result.at(ix, iy, c, i[3]) += at(*sources[0], i);
    });
  }

  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return static_cast<double>(element_count(sources[0]->shape));
  }
};

}  // namespace

const Op& im2col_back_op() {
  static const Im2colBack kOp;
  return kOp;
}

Result<Value> im2col_back(GraphBuilder& g, Operand dy, Im2colBackParams params) {
  return g.apply(im2col_back_op(), Params::of(params), {&dy});
}

}  // namespace shunt
