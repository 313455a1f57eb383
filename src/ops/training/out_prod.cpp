#include "ops/common/backward.h"
#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/matrix/matrix.h"
#include "ops/training/training.h"
#include "ops/view/view.h"

namespace shunt {

namespace {

class OutProd final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "out_prod",
                                 .family = "training",
                                 .summary =
                                     "Outer products of rows, summed up: y[m, n] = sum over k of "
                                     "a[m, k] * b[n, k]. Slice i2 of b "
                                     "meets slice i2 / (B2 / A2) of a, and so along dimension 3.",
                                 .sources = {"a", "b"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& a = *sources[0];
    const Tensor& b = *sources[1];
    SHUNT_TRY(expect_weight_type("a", a));
    SHUNT_TRY(expect_type("b", b, {DType::kF32}));
    SHUNT_TRY(expect_dim("b", b, 1, a.shape[1], "that of a"));
    for (std::size_t i : {2, 3}) {
      if (divides(a.shape[i], b.shape[i])) continue;
      return invalid("dimension {} of a is {}, which does not divide that of b, {}", i,
                     to_string(a.shape[i]), to_string(b.shape[i]));
    }
    return contiguous(DType::kF32, {a.shape[0], b.shape[0], b.shape[2], b.shape[3]});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& a = *sources[0];
    const RefTensor& b = *sources[1];
    for_each_element(result.sizes, [&](const Sizes& i) {
      const std::int64_t a2 = i[2] / (b.sizes[2] / a.sizes[2]);
      const std::int64_t a3 = i[3] / (b.sizes[3] / a.sizes[3]);
      double sum = 0;
      for (std::int64_t k = 0; k < a.sizes[1]; ++k) {
        sum += a.at(i[0], k, a2, a3) * b.at(i[1], k, i[2], i[3]);
      }
      at(result, i) = sum;
    });
  }

  /// A multiplication and an addition for each k.
  double operations(const Tensor& result, SourceTensors sources, const Params&) const override {
    return 2.0 * static_cast<double>(sources[0]->size(1)) *
           static_cast<double>(element_count(result.shape));
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    GraphBuilder& g = node.g;
    const Result<Value> dy = node.dy();
    if (node.wants(0)) {
      // da[m, k] = sum over n of dy[m, n] * b[n, k].
      const Result<Value> da = matmul(g, packed(g, transpose(g, dy)), node.source(1));
      SHUNT_TRY(node.give(0, sum_slices(g, da, node.shape(0))));
    }
    if (!node.wants(1)) return ok();
    // db[n, k] = sum over m of dy[m, n] * a[m, k].
    return node.give(1, matmul(g, dy, as_f32(g, node.source(0))));
  }

  void cases(const CaseSink& sink) const override {
    const auto emit = [&](const CaseSource& a, const CaseSource& b) {
      const std::vector<CaseSource> sources = {a, b};
      sink({.name = describe_sources(sources),
            .params = Params::of(NoParams{}),
            .sources = sources});
    };
    constexpr DType kF32 = DType::kF32;
    struct Size {
      std::int64_t m, n, k;
    };
    constexpr std::array kSizes = {Size{64, 5, 3},   Size{32, 1, 1},   Size{64, 17, 40},
                                   Size{1056, 3, 2}, Size{64, 4, 0},   Size{0, 4, 3},
                                   Size{96, 0, 3},   Size{288, 13, 70}};
    for (DType type : kWeightTypes) {
      const std::int64_t row = round_up(32, trait(type).block_elements);
      for (const Size& z : kSizes) {
        const std::int64_t m = round_up(z.m, trait(type).block_elements);
        emit(source_of(type, {m, z.k, 1, 1}), source_of(kF32, {z.n, z.k, 1, 1}));
      }
      const CaseSource b = source_of(kF32, {9, 6, 4, 3});
      emit(source_of(type, {row, 6, 2, 1}), b);
      emit(source_of(type, {row, 6, 1, 3}), b);
      emit(seen_as(type, {row, 6, 2, 3}, {0, 2, 1, 3}), b);
      emit(seen_as(type, {2 * row, 6, 2, 3}, {0, 1, 2, 3}, {row, 1, 0, 1}), b);
      emit(source_of(type, {row, 6, 4, 3}), seen_as(kF32, {9, 6, 4, 3}, {1, 0, 2, 3}));
      emit(source_of(type, {row, 6, 4, 3}),
           seen_as(kF32, {9, 6, 4, 3}, {0, 2, 1, 3}, {1, 0, 2, 0}));
    }
    for (DType type : kFloatTypes) {
      emit(source_of(type, {7, 3, 1, 1}), source_of(kF32, {5, 3, 1, 1}));
      emit(seen_as(type, {33, 4, 1, 1}, {1, 0, 2, 3}), source_of(kF32, {5, 4, 1, 1}));
      emit(source_of(type, {70, 600, 1, 1}), source_of(kF32, {50, 600, 1, 1}));
      emit(source_of(type, {70, 600, 1, 1}), seen_as(kF32, {50, 600, 1, 1}, {1, 0, 2, 3}));
    }
  }
};

}  // namespace

const Op& out_prod_op() {
  static const OutProd kOp;
  return kOp;
}

Result<Value> out_prod(GraphBuilder& g, Operand a, Operand b) {
  return g.apply(out_prod_op(), Params::of(NoParams{}), {&a, &b});
}

}  // namespace shunt
