#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "ops/view/view.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

/// Two sizes one after the other; an error if that is no multiple of one dynamic dimension.
Result<Dim> sum_of(const Dim& a, const Dim& b, int dim) {
  if (a.dynamic_dim != b.dynamic_dim) {
    return invalid(
        "dimension {} of a is {}, and that of b {}: the sum is no multiple of one "
        "dynamic dimension",
        dim, to_string(a), to_string(b));
  }
  if (a.max > kMaxSize - b.max || a.factor > kMaxSize - b.factor) {
    return invalid("dimension {} of a is {}, and that of b {}: the sum has more than 63 bits", dim,
                   to_string(a), to_string(b));
  }
  Dim sum = a;
  sum.max += b.max;
  sum.factor += b.factor;
  return sum;
}

class Concat final : public Differentiable<ConcatParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "concat",
        .family = "data",
        .summary =
            "b after a along one dimension: y[i] = a[i] where there is such an element, else "
            "b[i - n], where a has n.",
        .sources = {"a", "b"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const ConcatParams& params) const override {
    const Tensor& a = *sources[0];
    const Tensor& b = *sources[1];
    if (a.dtype != b.dtype) {
      return invalid("a and b differ in type: {} and {}", to_string(a.dtype), to_string(b.dtype));
    }
    if (params.dim < 0 || params.dim >= kMaxDims) {
      return invalid("dim is {}, but must be from 0 to {}", params.dim, kMaxDims - 1);
    }
    Shape shape = a.shape;
    for (int i = 0; i < kMaxDims; ++i) {
      const auto d = static_cast<std::size_t>(i);
      if (i == params.dim) {
        SHUNT_ASSIGN(shape[d], sum_of(a.shape[d], b.shape[d], i));
      } else {
        SHUNT_TRY(expect_dim("b", b, i, a.shape[d], "that of a"));
      }
    }
    return contiguous(a.dtype, shape);
  }

  void plain_reference(RefSources sources, const ConcatParams& params,
                       RefTensor& result) const override {
    const auto dim = static_cast<std::size_t>(params.dim);
    const std::int64_t n = sources[0]->sizes[dim];
    for_each_element(result.sizes, [&](Sizes i) {
      double& y = at(result, i);
      const bool first = i[dim] < n;
      if (!first) i[dim] -= n;
      y = at(*sources[first ? 0 : 1], i);
    });
  }

  Status gradient_rule(Backward& node, const ConcatParams& params) const override {
    const auto dim = static_cast<std::size_t>(params.dim);
    const Shape a = node.shape(0);
    SHUNT_TRY(expect_fixed_for(a[dim], fmt::format("dimension {} of a", dim)));
    SHUNT_TRY(expect_fixed_for(node.shape(1)[dim], fmt::format("dimension {} of b", dim)));
    Sizes after_a = {};
    after_a[dim] = a[dim].max;
    if (node.needs_gradient(0)) SHUNT_TRY(node.add_gradient(0, view(node.g, node.dy(), {}, a)));
    return node.needs_gradient(1)
               ? node.add_gradient(1, view(node.g, node.dy(), after_a, node.shape(1)))
               : ok();
  }
};

}  // namespace

const Op& concat_op() {
  static const Concat kOp;
  return kOp;
}

Result<Value> concat(GraphBuilder& g, Operand a, Operand b, int dim) {
  return g.apply(concat_op(), Params::of(ConcatParams{dim}), {&a, &b});
}

}  // namespace shunt
