#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/convolution/window.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

WindowOf<3> window_of(const Im2col3dParams& params) {
  return {params.kernel, params.stride, params.pad, params.dilation};
}

class Im2col3d final : public OpWith<Im2col3dParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "im2col_3d",
        .family = "convolution",
        .summary =
            "Each window of an image with depth as a row: y[kx + KW * (ky + KH * (kz + "
            "KD * c)), i, j, k + positions along z * n] = x[i * stride + kx * dilation - pad, "
            "..., ..., c + C * n], where x is 0 outside.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const Im2col3dParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_ASSIGN(const Triple count, positions(window_of(params), x));
    SHUNT_ASSIGN(const Dim images, groups("x", x, 3, params.channels));
    SHUNT_TRY(expect_float_type("type", params.type));
    std::int64_t columns = params.channels;
    for (const std::int64_t size : params.kernel) {
      if (!multiply_into(&columns, size)) return invalid("a window has too many elements");
    }
    SHUNT_ASSIGN(const Dim slices, checked_times(images, count[2]));
    return contiguous(params.type, {columns, count[0], count[1], slices});
  }

  void plain_reference(RefSources sources, const Im2col3dParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    const WindowOf<3> window = window_of(params);
    const auto& [width, height, depth] = window.kernel;
    const std::int64_t images = x.sizes[3] / params.channels;
    for_each_element(result.sizes, [&](const Sizes& i) {
      const std::int64_t along_z = result.sizes[3] / images;
      const std::int64_t c = i[0] / (width * height * depth);
      at(result, i) =
          padded(x, window.at(0, i[1], i[0] % width), window.at(1, i[2], i[0] / width % height),
                 window.at(2, i[3] % along_z, i[0] / (width * height) % depth),
                 c + params.channels * (i[3] / along_z));
    });
  }
};

}  // namespace

const Op& im2col_3d_op() {
  static const Im2col3d kOp;
  return kOp;
}

Result<Value> im2col_3d(GraphBuilder& g, Operand x, Im2col3dParams params) {
  return g.apply(im2col_3d_op(), Params::of(params), {&x});
}

}  // namespace shunt
