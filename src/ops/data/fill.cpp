#include <algorithm>
#include <cmath>

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
