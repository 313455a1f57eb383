#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/norm/norm.h"
#include "ops/norm/standardize.h"
#include "ops/view/view.h"

namespace shunt {

namespace {

class GroupNorm final : public Differentiable<GroupNormParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "group_norm",
        .family = "norm",
        .summary =
            "The elements of C / groups neighbouring channels of an image with mean 0 and variance "
            "1: y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps), zeros if all are the same.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const GroupNormParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_not_negative("eps", params.eps));
    for (std::size_t i = 0; i < 3; ++i) {
      if (x.shape[i].is_fixed()) continue;
      return invalid("dimension {} of x is {}, a dynamic dimension, but must be fixed", i,
                     to_string(x.shape[i]));
    }
    if (params.groups < 1 || x.size(2) % params.groups != 0)
      return invalid("groups is {}, which does not divide the channels of x, {}", params.groups,
                     x.size(2));
    return contiguous(x.dtype, x.shape);
  }

  void plain_reference(RefSources sources, const GroupNormParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    result.data = x.data;
    if (x.data.empty()) return;
    const auto group =
        static_cast<std::size_t>(x.sizes[0] * x.sizes[1] * x.sizes[2] / params.groups);
    for (std::size_t first = 0; first < x.data.size(); first += group) {
      standardize(std::span(result.data).subspan(first, group), params.eps);
    }
  }

  /// A group is a row.
  Status gradient_rule(Backward& node, const GroupNormParams& params) const override {
    const Shape x = node.shape(0);
    const std::int64_t group = x[0].max * x[1].max * x[2].max / params.groups;
    const auto rows = [&](Operand of) {
      return reshape(node.g, packed(node.g, of), {group, params.groups, x[3]});
    };
    const Result<Value> dx =
        standardize_back(node.g, rows(node.dy()), rows(as_f32(node.g, node.source(0))), params.eps);
    return node.add_gradient(0, reshape(node.g, dx, x));
  }
};

}  // namespace

const Op& group_norm_op() {
  static const GroupNorm kOp;
  return kOp;
}

Result<Value> group_norm(GraphBuilder& g, Operand x, GroupNormParams params) {
  return g.apply(group_norm_op(), Params::of(params), {&x});
}

}  // namespace shunt
