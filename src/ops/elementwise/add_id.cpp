#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/training/training.h"
#include "ops/view/view.h"

namespace shunt {

namespace {

class AddId final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "add_id",
        .family = "elementwise",
        .summary =
            "To each column the row of a bias with a number of its own added: y[c, u, t] = x[c, u, "
            "t] + b[c, ids[u, t]]. A run fails if ids has a number without a row.",
        .sources = {"x", "b", "ids"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& x = *sources[0];
    const Tensor& b = *sources[1];
    const Tensor& ids = *sources[2];
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_float_type("b", b));
    SHUNT_TRY(expect_id_type("ids", ids));
    SHUNT_TRY(expect_dims("x", x, 3));
    SHUNT_TRY(expect_dims("b", b, 2));
    SHUNT_TRY(expect_dims("ids", ids, 2));
    SHUNT_TRY(expect_dim("b", b, 0, x.shape[0], "dimension 0 of x"));
    SHUNT_TRY(expect_dim("ids", ids, 0, x.shape[1], "dimension 1 of x"));
    SHUNT_TRY(expect_dim("ids", ids, 1, x.shape[2], "dimension 2 of x"));
    return contiguous(x.dtype, x.shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& b = *sources[1];
    for_each_element(result.sizes, [&](const Sizes& i) {
      const auto row = static_cast<std::int64_t>(sources[2]->at(i[1], i[2]));
      if (row < 0 || row >= b.sizes[1]) return;
      at(result, i) = at(*sources[0], i) + b.at(i[0], row);
    });
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    SHUNT_TRY(node.add_gradient(0, node.dy()));
    if (!node.needs_gradient(1)) return ok();
    const Shape b = node.shape(1);
    SHUNT_TRY(expect_fixed_for(b[1], "the number of rows of b"));
    SHUNT_TRY(expect_fixed_for(node.shape(0)[1], "dimension 1 of x"));
    // The tokens' experts, one after the other.
    const std::int64_t used = node.shape(0)[1].max;
    const Dim rows = times(node.shape(0)[2], used);
    const Result<Value> dy = reshape(node.g, packed(node.g, node.dy()), {b[0], rows});
    const Result<Value> ids = reshape(node.g, packed(node.g, node.source(2)), {rows});
    return node.add_gradient(1, get_rows_back(node.g, dy, ids, b[1].max));
  }
};

}  // namespace

const Op& add_id_op() {
  static const AddId kOp;
  return kOp;
}

Result<Value> add_id(GraphBuilder& g, Operand x, Operand b, Operand ids) {
  return g.apply(add_id_op(), Params::of(NoParams{}), {&x, &b, &ids});
}

}  // namespace shunt
