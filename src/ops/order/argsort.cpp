#include <limits>

#include "ops/common/checks.h"
#include "ops/order/sort.h"

namespace shunt {

namespace {

class Argsort final : public OpWith<ArgsortParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "argsort",
        .family = "order",
        .summary =
            "The indices of the elements of each row in the order of their values; equal elements "
            "keep their order, and NaNs come last.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const ArgsortParams&) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    // Indices are I32.
    if (x.size(0) > std::numeric_limits<std::int32_t>::max())
      return invalid("x is {}, whose rows are too long", to_string(x));
    return contiguous(DType::kI32, x.shape);
  }

  void plain_reference(RefSources sources, const ArgsortParams& params,
                       RefTensor& result) const override {
    reference_order(*sources[0], params.order, result);
  }
};

}  // namespace

const Op& argsort_op() {
  static const Argsort kOp;
  return kOp;
}

Result<Value> argsort(GraphBuilder& g, Operand x, ArgsortParams params) {
  return g.apply(argsort_op(), Params::of(params), {&x});
}

}  // namespace shunt
