#include "ops/common/cases.h"
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

  void cases(const CaseSink& sink) const override {
    const auto emit = [&](const CaseSource& x, const Col2im1dParams& params) {
      sink({.name = fmt::format("{} {}", describe_source(x), describe(Params::of(params))),
            .params = Params::of(params),
            .sources = {x}});
    };
    for (const DType type : kFloatTypes) {
      const auto of = [&](const Sizes& sizes) { return source_of(type, sizes); };
      emit(of({1, 1, 1, 1}), {});
      emit(of({3, 1, 1, 1}), {.kernel = 3});
      emit(of({12, 7, 2, 1}), {.kernel = 4});
      emit(of({12, 7, 2, 1}), {.kernel = 1, .stride = 3});
      emit(of({12, 8, 1, 1}), {.kernel = 4, .stride = 2, .pad = 1});
      emit(of({32, 11, 1, 1}), {.kernel = 16, .stride = 8, .pad = 4});
      emit(of({6, 5, 1, 1}), {.kernel = 3, .stride = 2, .pad = 3, .dilation = 4});
      emit(of({4, 6, 3, 1}), {.kernel = 2, .stride = 5});
      emit(of({600, 4, 1, 1}), {.kernel = 600, .stride = 7, .pad = 5});
      emit(of({10, 1800, 1, 1}), {.kernel = 5, .stride = 3, .pad = 2});
      emit(of({0, 5, 1, 1}), {.kernel = 3});
      emit(of({6, 5, 0, 1}), {.kernel = 3});
      emit(seen_as(type, {12, 7, 2, 1}, {1, 0, 2, 3}), {.kernel = 4, .stride = 2});
      emit(seen_as(type, {12, 7, 2, 1}, {0, 2, 1, 3}), {.kernel = 4, .stride = 2});
      emit(seen_as(type, {12, 7, 2, 1}, {0, 1, 2, 3}, {4, 1, 1, 0}), {.kernel = 4, .stride = 3});
    }
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
