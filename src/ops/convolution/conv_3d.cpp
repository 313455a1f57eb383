#include "ops/common/cases.h"
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
    SHUNT_ASSIGN(const Dim slices, times(images, outputs.max));
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

  void cases(const CaseSink& sink) const override {
    const auto emit = [&](const CaseSource& w, const CaseSource& x, std::int64_t channels,
                          const WindowOf<3>& window) {
      const std::vector<CaseSource> sources = {w, x};
      const Params params =
          Params::of(Conv3dParams{channels, window.stride, window.pad, window.dilation});
      sink({.name = describe_sources(sources, describe(params)),
            .params = params,
            .sources = sources});
    };
    for (const DType type : {DType::kF16, DType::kBF16}) {  // of x
      window_3d_cases(
          [&](const CaseSource& x, std::int64_t channels, const WindowOf<3>& window) {
            const auto& [width, height, depth] = window.kernel;
            const Sizes w = {width, height, depth, channels * 5};
            emit(source_of(DType::kF32, w), x, channels, window);
            emit(source_of(type, w), x, channels, window);
          },
          type);
    }
    for (const DType type : kFloatTypes) {
      window_3d_cases([&](const CaseSource& x, std::int64_t channels, const WindowOf<3>& window) {
        const auto& [width, height, depth] = window.kernel;
        emit(source_of(type, {width, height, depth, channels}), x, channels, window);
        emit(source_of(type, {width, height, depth, channels * 5}), x, channels, window);
      });
      const CaseSource x = source_of(DType::kF32, {6, 5, 4, 6});
      const WindowOf<3> window = {.kernel = {3, 3, 2}, .pad = {1, 1, 1}};
      // As frameworks that keep channels innermost have them, and some kernels of more.
      emit(seen_as(type, {3, 3, 2, 12}, {1, 2, 3, 0}), x, 3, window);
      emit(seen_as(type, {3, 3, 2, 12}, {0, 1, 2, 3}, {0, 1, 1, 3}), x, 3, window);
      emit(seen_as(type, {3, 3, 2, 12}, {0, 2, 1, 3}), x, 2, window);
      emit(source_of(type, {3, 3, 2, 0}), x, 3, window);
      // More than a tile of positions, outputs and depth.
      emit(source_of(type, {3, 3, 3, 20 * 200}), source_of(DType::kF32, {4, 4, 3, 20}), 20,
           {.kernel = {3, 3, 3}, .pad = {1, 1, 1}});
    }
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
