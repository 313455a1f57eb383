#include <algorithm>
#include <cmath>

#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

class FillOp final : public OpWith<FillParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "fill",
                                 .family = "data",
                                 .summary = "A tensor of one number: y[i] = value.",
                                 .sources = {}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors, const FillParams& params) const override {
    SHUNT_ASSIGN(const Inferred result, contiguous(params.type, params.shape));
    SHUNT_TRY(expect_plain_type("the result", result.tensor));
    if (std::isnan(params.value)) return invalid("value is not a number");
    return result;
  }

  // Without the type's rounding.
  void plain_reference(RefSources, const FillParams& params, RefTensor& result) const override {
    std::ranges::fill(result.data, static_cast<double>(params.value));
  }

  void cases(const CaseSink& sink) const override {
    const auto emit = [&](const Shape& shape, float value, DType type) {
      const Params params = Params::of(FillParams{shape, value, type});
      sink({.name = describe(params), .params = params, .sources = {}, .max_error = 0});
    };
    for (DType type : kPlainTypes) {
      emit({1}, 2.5F, type);
      emit({7, 3, 2, 5}, -3, type);
      emit({0, 3}, 1, type);
      emit({4, 0, 2}, 1, type);
      emit({9001, 2}, 100, type);
    }
    emit({5, 5}, 3e38F, DType::kI32);
    emit({5, 5}, -3e38F, DType::kI64);
  }
};

}  // namespace

const Op& fill_op() {
  static const FillOp kOp;
  return kOp;
}

Result<Value> fill(GraphBuilder& g, const Shape& shape, float value, DType type) {
  return g.apply(fill_op(), Params::of(FillParams{shape, value, type}), std::span<const NodeId>());
}

}  // namespace shunt
