#include <algorithm>
#include <vector>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

class Cpy final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "cpy",
        .family = "data",
        .summary =
            "Writes src into dst, converted to dst's type: dst[i] = src[i]. Integers and F64 are "
            "converted to each other directly, all other types through F32. Rounds to nearest, "
            "even if between two, where the type does not say otherwise; integers saturate, and "
            "not-a-number becomes 0 there.",
        .sources = {"dst", "src"},
        .storage = Storage::kIntoFirst,
        .place_by_place = true};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& dst = *sources[0];
    const Tensor& src = *sources[1];
    SHUNT_TRY(expect_conversion("src", src, "dst", dst));
    SHUNT_TRY(expect_same_shape("src", src, "dst", dst));
    return Inferred{dst};
  }

  // Without dst's rounding, which is its type's and not the op's.
  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    result.data = sources[1]->data;
  }

  /// The previous content of dst is lost.
  Status gradient_rule(Backward& node, const NoParams&) const override {
    SHUNT_TRY(node.add_zero_gradient(0));
    return node.add_gradient(1, node.dy());
  }
};

}  // namespace

const Op& cpy_op() {
  static const Cpy kOp;
  return kOp;
}

Result<Value> cpy(GraphBuilder& g, Operand src, Operand dst) {
  return g.apply(cpy_op(), Params::of(NoParams{}), {&dst, &src});
}

}  // namespace shunt
