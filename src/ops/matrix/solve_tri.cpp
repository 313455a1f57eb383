#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/matrix/matrix.h"

namespace shunt {

namespace {

class SolveTri final : public OpWith<SolveTriParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "solve_tri",
        .family = "matrix",
        .summary =
            "Solves equations whose matrix is triangular: sum over j of a[j, i] * x[r, j] = b[r, "
            "i] for each equation i and right-hand side r. Slice i2 of b meets slice i2 / (B2 / "
            "A2) of a, and so along dimension 3.",
        .sources = {"a", "b"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const SolveTriParams&) const override {
    const Tensor& a = *sources[0];
    const Tensor& b = *sources[1];
    SHUNT_TRY(expect_type("a", a, {DType::kF32}));
    SHUNT_TRY(expect_type("b", b, {DType::kF32}));
    SHUNT_TRY(expect_fixed("a", a, 0));
    SHUNT_TRY(expect_dim("a", a, 1, a.shape[0], "dimension 0 of it"));
    SHUNT_TRY(expect_dim("b", b, 1, a.shape[0], "the number of equations"));
    for (std::size_t i : {2, 3}) {
      if (divides(a.shape[i], b.shape[i])) continue;
      return invalid("dimension {} of a is {}, which does not divide that of b, {}", i,
                     to_string(a.shape[i]), to_string(b.shape[i]));
    }
    return contiguous(DType::kF32, b.shape);
  }

  void plain_reference(RefSources sources, const SolveTriParams& params,
                       RefTensor& result) const override {
    const RefTensor& a = *sources[0];
    const RefTensor& b = *sources[1];
    const bool lower = params.triangle == Triangle::kLower;
    const std::int64_t equations = b.sizes[1];
    const std::int64_t last = equations - 1;
    for_each_element({equations, b.sizes[0], b.sizes[2], b.sizes[3]}, [&](const Sizes& at_step) {
      const auto& [step, r, i2, i3] = at_step;
      const std::int64_t i = lower ? step : last - step;
      const std::int64_t a2 = i2 / (b.sizes[2] / a.sizes[2]);
      const std::int64_t a3 = i3 / (b.sizes[3] / a.sizes[3]);
      double rest = b.at(r, i, i2, i3);
      for (std::int64_t j = lower ? 0 : i + 1; j < (lower ? i : equations); ++j) {
        rest -= a.at(j, i, a2, a3) * result.at(r, j, i2, i3);
      }
      result.at(r, i, i2, i3) = params.unit ? rest : rest / a.at(i, i, a2, a3);
    });
  }

  /// A multiplication and a subtraction for half of the elements of a.
  double operations(const Tensor& result, SourceTensors sources, const Params&) const override {
    return static_cast<double>(sources[0]->size(0)) *
           static_cast<double>(element_count(result.shape));
  }

  void cases(const CaseSink& sink) const override {
    // Near a triangle of ones, whose solution is the difference of neighbouring equations: errors
    // don't grow, and no two elements are alike.
    const auto triangle = [](CaseSource a) { return filled(a, Fill::kUniform, 0.99, 1.01); };
    const auto emit = [&](const CaseSource& a, const CaseSource& b) {
      for (const Triangle which : {Triangle::kLower, Triangle::kUpper}) {
        for (const bool unit : {false, true}) {
          const std::vector<CaseSource> sources = {triangle(a), b};
          const Params params = Params::of(SolveTriParams{which, unit});
          sink({.name = describe_sources(sources, describe(params)),
                .params = params,
                .sources = sources});
        }
      }
    };
    constexpr DType kF32 = DType::kF32;
    const auto square = [](std::int64_t n, std::int64_t a2 = 1, std::int64_t a3 = 1) {
      return source_of(kF32, {n, n, a2, a3});
    };
    emit(square(1), source_of(kF32, {1, 1, 1, 1}));
    emit(square(7), source_of(kF32, {1, 7, 1, 1}));
    emit(square(16), source_of(kF32, {33, 16, 1, 1}));
    emit(square(65), source_of(kF32, {100, 65, 1, 1}));
    emit(square(100), source_of(kF32, {3, 100, 1, 1}));
    emit(square(0), source_of(kF32, {3, 0, 1, 1}));
    emit(square(5), source_of(kF32, {0, 5, 1, 1}));
    emit(square(6, 2, 3), source_of(kF32, {4, 6, 2, 3}));
    emit(square(6, 2, 1), source_of(kF32, {4, 6, 4, 3}));
    emit(square(6, 1, 3), source_of(kF32, {4, 6, 2, 6}));
    emit(square(6, 1, 0), source_of(kF32, {4, 6, 2, 0}));
    const CaseSource a = square(8, 2, 1);
    const CaseSource b = source_of(kF32, {5, 8, 4, 1});
    emit(seen_as(kF32, {8, 8, 2, 1}, {1, 0, 2, 3}), b);
    emit(seen_as(kF32, {8, 8, 2, 1}, {0, 2, 1, 3}), b);
    emit(seen_as(kF32, {8, 8, 2, 1}, {0, 1, 2, 3}, {2, 3, 1, 0}), b);
    emit(a, seen_as(kF32, {5, 8, 4, 1}, {1, 0, 2, 3}));
    emit(a, seen_as(kF32, {5, 8, 4, 1}, {2, 1, 0, 3}, {1, 2, 0, 0}));
  }
};

}  // namespace

const Op& solve_tri_op() {
  static const SolveTri kOp;
  return kOp;
}

Result<Value> solve_tri(GraphBuilder& g, Operand a, Operand b, SolveTriParams params) {
  return g.apply(solve_tri_op(), Params::of(params), {&a, &b});
}

}  // namespace shunt
