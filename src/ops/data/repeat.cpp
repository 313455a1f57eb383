#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

class Repeat final : public Differentiable<RepeatParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "repeat",
        .family = "data",
        .summary =
            "x repeated along each dimension until it has `shape`: y[i] = x[i mod x's "
            "shape].",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const RepeatParams& params) const override {
    SHUNT_ASSIGN(const Inferred result, contiguous(sources[0]->dtype, params.shape));
    SHUNT_TRY(expect_broadcast("x", *sources[0], "shape", result.tensor));
    return result;
  }

  void plain_reference(RefSources sources, const RepeatParams&, RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      Sizes j = i;
      for (std::size_t d = 0; d < kMaxDims; ++d) j[d] %= sources[0]->sizes[d];
      at(result, i) = at(*sources[0], j);
    });
  }

  Status gradient_rule(Backward& node, const RepeatParams&) const override {
    return node.add_gradient(0, sum_repeats(node.g, node.dy(), node.shape(0)));
  }
};

}  // namespace

const Op& repeat_op() {
  static const Repeat kOp;
  return kOp;
}

Result<Value> repeat(GraphBuilder& g, Operand x, const Shape& shape) {
  return g.apply(repeat_op(), Params::of(RepeatParams{shape}), {&x});
}

}  // namespace shunt
