#include "ops/common/backward.h"
#include "ops/common/broadcast.h"
#include "ops/common/lookup.h"
#include "ops/elementwise/elementwise.h"
#include "ops/unary/unary.h"

namespace shunt {

namespace {

struct Row {
  std::string_view name;
  std::string_view summary;
  double (*f)(double a, double b);
  /// The gradients by a, and by b as if it had a's shape.
  Result<Value> (*by_a)(Backward& node);
  Result<Value> (*by_b)(Backward& node);
};

Result<Value> dy_of(Backward& node) {
  return node.dy();
}
Result<Value> minus_dy_of(Backward& node) {
  return neg(node.g, node.dy());
}
Result<Value> dy_times_a(Backward& node) {
  return mul(node.g, node.dy(), node.source(0));
}
Result<Value> dy_times_b(Backward& node) {
  return mul(node.g, node.dy(), node.source(1));
}
Result<Value> dy_over_b(Backward& node) {
  return div(node.g, node.dy(), node.source(1));
}
/// -dy * a / b^2.
Result<Value> minus_dy_times_y_over_b(Backward& node) {
  const Result<Value> y = div(node.g, dy_times_a(node), node.source(1));
  return neg(node.g, div(node.g, y, node.source(1)));
}

constexpr std::array kRows = {
    Row{"add",
        "Sum of each element: y = a + b. b is repeated along the dimensions of a that it divides.",
        [](double a, double b) { return a + b; }, dy_of, dy_of},
    Row{"sub",
        "Difference of each element: y = a - b. b is repeated along the dimensions of a that it "
        "divides.",
        [](double a, double b) { return a - b; }, dy_of, minus_dy_of},
    Row{"mul",
        "Product of each element: y = a * b. b is repeated along the dimensions of a that it "
        "divides.",
        [](double a, double b) { return a * b; }, dy_times_b, dy_times_a},
    Row{"div",
        "Quotient of each element: y = a / b. b is repeated along the dimensions of a that it "
        "divides.",
        [](double a, double b) { return a / b; }, dy_over_b, minus_dy_times_y_over_b},
};

class Arithmetic final : public Differentiable<NoParams> {
 public:
  explicit Arithmetic(const Row& row)
      : row_(row),
        info_{.name = row.name,
              .family = "elementwise",
              .summary = row.summary,
              .sources = {"a", "b"}} {}

  const OpInfo& info() const override { return info_; }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    return infer_broadcast(sources);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    reference_broadcast(sources, result, row_.f);
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    if (node.needs_gradient(0)) SHUNT_TRY(node.add_gradient(0, row_.by_a(node)));
    if (!node.needs_gradient(1)) return ok();
    return node.add_gradient(1, sum_repeats(node.g, row_.by_b(node), node.shape(1)));
  }

 private:
  const Row& row_;
  OpInfo info_;
};

template <std::size_t I>
const Op& row_op() {
  static const Arithmetic kOp(kRows[I]);
  return kOp;
}

Result<Value> apply(GraphBuilder& g, const Op& op, Operand a, Operand b) {
  return g.apply(op, Params::of(NoParams{}), {&a, &b});
}

}  // namespace

const Op& add_op() {
  return row_op<row_named(kRows, "add")>();
}
Result<Value> add(GraphBuilder& g, Operand a, Operand b) {
  return apply(g, add_op(), a, b);
}

const Op& sub_op() {
  return row_op<row_named(kRows, "sub")>();
}
Result<Value> sub(GraphBuilder& g, Operand a, Operand b) {
  return apply(g, sub_op(), a, b);
}

const Op& mul_op() {
  return row_op<row_named(kRows, "mul")>();
}
Result<Value> mul(GraphBuilder& g, Operand a, Operand b) {
  return apply(g, mul_op(), a, b);
}

const Op& div_op() {
  return row_op<row_named(kRows, "div")>();
}
Result<Value> div(GraphBuilder& g, Operand a, Operand b) {
  return apply(g, div_op(), a, b);
}

}  // namespace shunt
