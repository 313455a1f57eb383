#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class RepeatBack final : public OpWith<RepeatBackParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "repeat_back",
                                 .family = "training",
                                 .summary =
                                     "Of repeating x until it has dy's shape: dx[i] is the sum of "
                                     "dy over all places that x[i] was "
                                     "repeated to, dx[i mod shape] += dy[i]. All floats are F32.",
                                 .sources = {"dy"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources,
                              const RepeatBackParams& params) const override {
    const Tensor& dy = *sources[0];
    SHUNT_TRY(expect_type("dy", dy, {DType::kF32}));
    SHUNT_ASSIGN(const Inferred result, contiguous(DType::kF32, params.shape));
    SHUNT_TRY(expect_broadcast("shape", result.tensor, "dy", dy));
    return result;
  }

  void plain_reference(RefSources sources, const RepeatBackParams&,
                       RefTensor& result) const override {
    for_each_element(sources[0]->sizes, [&](const Sizes& i) {
      Sizes j = i;
      for (std::size_t d = 0; d < kMaxDims; ++d) j[d] %= result.sizes[d];
      at(result, j) += at(*sources[0], i);
    });
  }

  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return static_cast<double>(element_count(sources[0]->shape));
  }

  void cases(const CaseSink& sink) const override {
    const auto emit = [&](const CaseSource& dy, const Sizes& sizes) {
      const Params params = Params::of(RepeatBackParams{{sizes[0], sizes[1], sizes[2], sizes[3]}});
      sink({.name = fmt::format("{} {}", describe_source(dy), describe(params)),
            .params = params,
            .sources = {dy}});
    };
    for (const CaseSource& dy : unary_sources(DType::kF32)) {
      const Sizes sizes = sizes_of(dy);
      emit(dy, sizes);
      const Sizes bias = {sizes[0], 1, 1, 1};
      if (sizes[0] != 0 && sizes != bias) emit(dy, bias);
    }
    const CaseSource dy = source_of(DType::kF32, {36, 4, 6, 2});
    for (const Sizes& sizes : {Sizes{1, 1, 1, 1}, Sizes{12, 4, 6, 2}, Sizes{1, 4, 1, 1},
                               Sizes{36, 2, 3, 1}, Sizes{4, 1, 2, 2}, Sizes{1, 2, 6, 1}}) {
      emit(dy, sizes);
      emit(seen_as(DType::kF32, {36, 4, 6, 2}, {1, 0, 2, 3}), sizes);
    }
    emit(source_of(DType::kF32, {1000, 40, 1, 1}), {500, 1, 1, 1});
    emit(source_of(DType::kF32, {0, 4, 1, 1}), {1, 4, 1, 1});
  }
};

}  // namespace

const Op& repeat_back_op() {
  static const RepeatBack kOp;
  return kOp;
}

Result<Value> repeat_back(GraphBuilder& g, Operand dy, const Shape& shape) {
  return g.apply(repeat_back_op(), Params::of(RepeatBackParams{shape}), {&dy});
}

}  // namespace shunt
