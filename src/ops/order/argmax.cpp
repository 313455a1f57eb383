#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/order/order.h"

namespace shunt {

namespace {

class Argmax final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "argmax",
        .family = "order",
        .summary =
            "The index of the largest element of each row, of the first if there are several.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    if (x.size(0) < 1) return invalid("x is {}, whose rows have no element", to_string(x));
    return contiguous(DType::kI32, {x.shape[1], x.shape[2], x.shape[3], 1});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    for_each_row(x.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      std::int64_t largest = 0;
      for (std::int64_t i = 1; i < x.sizes[0]; ++i) {
        if (x.at(i, i1, i2, i3) > x.at(largest, i1, i2, i3)) largest = i;
      }
      result.at(i1, i2, i3) = static_cast<double>(largest);
    });
  }
};

}  // namespace

const Op& argmax_op() {
  static const Argmax kOp;
  return kOp;
}

Result<Value> argmax(GraphBuilder& g, Operand x) {
  return g.apply(argmax_op(), Params::of(NoParams{}), {&x});
}

}  // namespace shunt
