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
