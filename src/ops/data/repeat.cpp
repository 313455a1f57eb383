#include "ops/common/backward.h"
#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

class Repeat final : public Differentiable<RepeatParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "repeat",
        .family = "data",
        .summary =
            "x over and over along each dimension until it has `shape`: y[i] = x[i mod x's "
            "shape].",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const RepeatParams& params) const override {
    SHUNT_ASSIGN(const Inferred result, contiguous(sources[0]->dtype, params.shape));
    SHUNT_TRY(expect_broadcast("x", *sources[0], "shape", result.tensor));
    return result;
  }

  void plain_reference(RefSources sources, const RepeatParams&, RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      Sizes j = i;
      for (std::size_t d = 0; d < kMaxDims; ++d) j[d] %= sources[0]->sizes[d];
      at(result, i) = at(*sources[0], j);
    });
  }

  Status gradient_rule(Backward& node, const RepeatParams&) const override {
    return node.give(0, sum_repeats(node.g, node.dy(), node.shape(0)));
  }

  void cases(const CaseSink& sink) const override {
    const auto emit = [&](const CaseSource& x, const Sizes& times) {
      Shape shape;
      const Sizes sizes = sizes_of(x);
      for (std::size_t d = 0; d < kMaxDims; ++d) shape[d] = times[d] * sizes[d];
      const Params params = Params::of(RepeatParams{shape});
      sink({.name = fmt::format("{} {}", describe_source(x), describe(params)),
            .params = params,
            .sources = {x},
            .max_error = 0});
    };
    for (const DTypeTrait& type : dtypes()) {
      const std::int64_t block = type.block_elements;
      const CaseSource x = source_of(type.dtype, {2 * block, 3, 2, 1});
      emit(x, {1, 1, 1, 1});
      emit(x, {3, 2, 1, 4});
      emit(x, {1, 1, 0, 1});
      emit(seen_as(type.dtype, {block, 2, 3, 2}, {0, 2, 1, 3}, {block, 1, 0, 0}), {5, 1, 2, 1});
    }
    for (const CaseSource& x : unary_sources(DType::kF32)) {
      emit(x, {2, 1, 3, 1});
      emit(x, {1, 3, 1, 2});
    }
    for (DType type : kPlainTypes) {
      emit(source_of(type, {1, 5, 1, 1}), {700, 1, 1, 1});
      emit(source_of(type, {7, 2, 1, 1}), {1300, 1, 1, 1});
      emit(seen_as(type, {5, 3, 1, 1}, {1, 0, 2, 3}), {3, 2, 1, 1});
    }
    emit(source_of(DType::kF16, {4097, 1, 1, 1}), {3, 2, 1, 1});
  }
};

}  // namespace

const Op& repeat_op() {
  static const Repeat kOp;
  return kOp;
}

Result<Value> repeat(GraphBuilder& g, Operand x, const Shape& shape) {
  return g.apply(repeat_op(), Params::of(RepeatParams{shape}), {&x});
}

}  // namespace shunt
