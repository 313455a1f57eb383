#include <algorithm>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/view/view.h"

namespace shunt {

namespace {

Status check_axes(const std::array<int, kMaxDims>& axes) {
  std::array<bool, kMaxDims> seen = {};
  for (int axis : axes) {
    if (axis < 0 || axis >= kMaxDims || seen[static_cast<std::size_t>(axis)]) {
      return invalid("axes are [{}, {}, {}, {}], which does not name each of 0 to 3 once", axes[0],
                     axes[1], axes[2], axes[3]);
    }
    seen[static_cast<std::size_t>(axis)] = true;
  }
  return ok();
}

class Permute final : public Differentiable<PermuteParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "permute",
        .family = "view",
        .summary =
            "x with its dimensions in another order: dimension i of y is dimension axes[i] of "
            "x.",
        .sources = {"x"},
        .storage = Storage::kView};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const PermuteParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(check_axes(params.axes));
    if (params.axes[0] != 0 && trait(x.dtype).quantized) {
      return invalid("axes[0] is {}, but the blocks of {} are along dimension 0", params.axes[0],
                     to_string(x.dtype));
    }
    Inferred result{x};
    for (std::size_t i = 0; i < kMaxDims; ++i) {
      const auto axis = static_cast<std::size_t>(params.axes[i]);
      result.tensor.shape[i] = x.shape[axis];
      result.tensor.strides[i] = x.strides[axis];
    }
    return result;
  }

  void plain_reference(RefSources sources, const PermuteParams& params,
                       RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      Sizes j = {};
      for (std::size_t d = 0; d < kMaxDims; ++d) j[static_cast<std::size_t>(params.axes[d])] = i[d];
      at(result, i) = at(*sources[0], j);
    });
  }

  Status gradient_rule(Backward& node, const PermuteParams& params) const override {
    std::array<int, kMaxDims> back = {};
    for (std::size_t i = 0; i < kMaxDims; ++i)
      back[static_cast<std::size_t>(params.axes[i])] = static_cast<int>(i);
    return node.add_gradient(0, permute(node.g, node.dy(), back));
  }
};

}  // namespace

const Op& permute_op() {
  static const Permute kOp;
  return kOp;
}

Result<Value> permute(GraphBuilder& g, Operand x, const std::array<int, kMaxDims>& axes) {
  return g.apply(permute_op(), Params::of(PermuteParams{axes}), {&x});
}

}  // namespace shunt
