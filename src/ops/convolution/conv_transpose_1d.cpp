#include "ops/common/cases.h"
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

  void cases(const CaseSink& sink) const override {
    struct Size {
      std::int64_t kernel, outputs, channels, length, images;
      Conv1dParams params;
    };
    constexpr std::array kSizes = {
        Size{1, 1, 1, 1, 1, {}},        Size{3, 2, 4, 1, 1, {}},
        Size{4, 5, 3, 7, 2, {}},        Size{3, 1, 2, 9, 1, {1, 1, 1}},
        Size{4, 3, 2, 8, 1, {2, 1, 1}}, Size{16, 2, 3, 11, 1, {8, 4}},
        Size{2, 2, 2, 6, 3, {5, 0, 1}}, Size{3, 2, 2, 5, 1, {2, 3, 4}},
        Size{5, 1, 1, 40, 1, {1, 2}},   Size{3, 0, 2, 5, 1, {}},
        Size{3, 2, 0, 5, 1, {}},        Size{3, 2, 2, 5, 0, {}},
        Size{7, 2, 5, 900, 1, {5, 2}},  Size{7, 1, 40, 33, 1, {3, 0}},
    };
    const auto emit = [&](const CaseSource& w, const CaseSource& x, const Conv1dParams& params) {
      const std::vector<CaseSource> sources = {w, x};
      sink({.name = describe_sources(sources, describe(Params::of(params))),
            .params = Params::of(params),
            .sources = sources});
    };
    constexpr DType kF32 = DType::kF32;
    for (const DType type : kFloatTypes) {
      for (const Size& s : kSizes) {
        emit(source_of(type, {s.kernel, s.outputs, s.channels, 1}),
             source_of(kF32, {s.length, s.channels, s.images, 1}), s.params);
        if (type == kF32) continue;
        for (const DType of_w : {kF32, type}) {
          emit(source_of(of_w, {s.kernel, s.outputs, s.channels, 1}),
               source_of(type, {s.length, s.channels, s.images, 1}), s.params);
        }
      }
      const CaseSource w = source_of(type, {4, 5, 3, 1});
      const Conv1dParams params = {2, 1, 1};
      emit(w, seen_as(kF32, {9, 3, 2, 1}, {1, 0, 2, 3}), params);
      if (type != kF32) emit(w, seen_as(type, {9, 3, 2, 1}, {1, 0, 2, 3}, {1, 2, 1, 0}), params);
      emit(w, seen_as(kF32, {9, 3, 2, 1}, {2, 1, 0, 3}, {1, 2, 0, 0}), params);
      emit(seen_as(type, {4, 5, 3, 1}, {2, 0, 1, 3}), source_of(kF32, {9, 3, 2, 1}), params);
      emit(seen_as(type, {4, 5, 3, 1}, {0, 1, 2, 3}, {2, 1, 1, 0}), source_of(kF32, {9, 3, 2, 1}),
           params);
    }
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
