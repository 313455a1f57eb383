#include <cmath>

#include "ops/activation/activation.h"
#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"

namespace shunt {

namespace {

class Swiglu final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "swiglu",
        .family = "activation",
        .summary =
            "Gated unit, element by element: y = silu(gate) * up = gate / (1 + exp(-gate)) * "
            "up.",
        .sources = {"gate", "up"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& gate = *sources[0];
    const Tensor& up = *sources[1];
    SHUNT_TRY(expect_type("gate", gate, {DType::kF32}));
    SHUNT_TRY(expect_type("up", up, {DType::kF32}));
    SHUNT_TRY(expect_same_shape("gate", gate, "up", up));
    return contiguous(DType::kF32, gate.shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      const double gate = at(*sources[0], i);
      at(result, i) = gate / (1 + std::exp(-gate)) * at(*sources[1], i);
    });
  }

  void cases(const CaseSink& sink) const override {
    constexpr DType kF32 = DType::kF32;
    const auto emit = [&](const CaseSource& gate, const CaseSource& up,
                          std::string_view extra = "") {
      const std::vector<CaseSource> sources = {gate, up};
      sink({.name = describe_sources(sources, extra),
            .params = Params::of(NoParams{}),
            .sources = sources,
            .max_error = kElementError});
    };
    for (const CaseSource& x : unary_sources(kF32)) {
      const CaseSource plain = source_of(kF32, sizes_of(x));
      emit(x, plain);
      emit(filled(plain, Fill::kUniform, -200, 200), x, "large");
    }
    // The two halves of one product, as fused weights give them.
    emit(seen_as(kF32, {33, 4, 1, 1}, {0, 1, 2, 3}, {33, 0, 0, 0}),
         seen_as(kF32, {33, 4, 1, 1}, {0, 1, 2, 3}, {33, 0, 0, 0}));
    emit(seen_as(kF32, {12, 5, 3, 2}, {1, 0, 2, 3}), seen_as(kF32, {12, 5, 3, 2}, {0, 2, 1, 3}));
  }
};

}  // namespace

const Op& swiglu_op() {
  static const Swiglu kOp;
  return kOp;
}

Result<Value> swiglu(GraphBuilder& g, Operand gate, Operand up) {
  return g.apply(swiglu_op(), Params::of(NoParams{}), {&gate, &up});
}

}  // namespace shunt
