#include <limits>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

class Roll final : public Differentiable<RollParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "roll",
                                 .family = "data",
                                 .summary =
                                     "Elements shifted along each dimension, of n elements, with "
                                     "wrap-around: y[(i + shift) mod n] = x[i].",
                                 .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const RollParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_whole_blocks("shift[0]", params.shift[0], "x", x));
    return contiguous(x.dtype, x.shape);
  }

  void plain_reference(RefSources sources, const RollParams& params,
                       RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      Sizes j = i;
      for (std::size_t d = 0; d < kMaxDims; ++d) {
        const std::int64_t n = result.sizes[d];
        j[d] = (i[d] + params.shift[d] % n + n) % n;
      }
      at(result, j) = at(*sources[0], i);
    });
  }

  Status gradient_rule(Backward& node, const RollParams& params) const override {
    Sizes back = {};
    for (std::size_t i = 0; i < kMaxDims; ++i) back[i] = -params.shift[i];
    return node.add_gradient(0, roll(node.g, node.dy(), back));
  }
};

}  // namespace

const Op& roll_op() {
  static const Roll kOp;
  return kOp;
}

Result<Value> roll(GraphBuilder& g, Operand x, const Sizes& shift) {
  return g.apply(roll_op(), Params::of(RollParams{shift}), {&x});
}

}  // namespace shunt
