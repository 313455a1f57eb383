#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class CountEqual final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "count_equal",
                                 .family = "training",
                                 .summary = "Number of equal elements of a and b, both I32 or I64.",
                                 .sources = {"a", "b"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    SHUNT_TRY(expect_id_type("a", *sources[0]));
    SHUNT_TRY(expect_id_type("b", *sources[1]));
    SHUNT_TRY(expect_same_shape("a", *sources[0], "b", *sources[1]));
    return contiguous(DType::kI64, {1});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    for_each_element(sources[0]->sizes, [&](const Sizes& i) {
      if (at(*sources[0], i) == at(*sources[1], i)) result.at(0) += 1;
    });
  }

  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return static_cast<double>(element_count(sources[0]->shape));
  }
};

}  // namespace

const Op& count_equal_op() {
  static const CountEqual kOp;
  return kOp;
}

Result<Value> count_equal(GraphBuilder& g, Operand a, Operand b) {
  return g.apply(count_equal_op(), Params::of(NoParams{}), {&a, &b});
}

}  // namespace shunt
