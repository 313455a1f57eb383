#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/pairs.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class Acc final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "acc",
                                 .family = "training",
                                 .summary =
                                     "Adds in place: dst = dst + x, in F32, rounded once to dst's "
                                     "type. A window of a larger "
                                     "tensor is a view of it.",
                                 .sources = {"dst", "x"},
                                 .storage = Storage::kIntoFirst,
                                 .place_by_place = true};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& dst = *sources[0];
    const Tensor& x = *sources[1];
    SHUNT_TRY(expect_float_type("dst", dst));
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_same_shape("dst", dst, "x", x));
    return Inferred{dst};
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      at(result, i) = at(*sources[0], i) + at(*sources[1], i);
    });
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    SHUNT_TRY(node.add_gradient(0, node.dy()));
    return node.add_gradient(1, node.dy());
  }
};

}  // namespace

const Op& acc_op() {
  static const Acc kOp;
  return kOp;
}

Result<Value> acc(GraphBuilder& g, Operand dst, Operand x) {
  return g.apply(acc_op(), Params::of(NoParams{}), {&dst, &x});
}

}  // namespace shunt
