#include "ops/common/broadcast.h"
#include "ops/common/lookup.h"
#include "ops/elementwise/elementwise.h"

namespace shunt {

namespace {

struct Row {
  std::string_view name;
  std::string_view summary;
  double (*f)(double a, double b);
};

constexpr std::array kRows = {
    Row{"add",
        "Sum of each element: y = a + b. b is repeated along the dimensions of a that it divides.",
        [](double a, double b) { return a + b; }},
    Row{"sub",
        "Difference of each element: y = a - b. b is repeated along the dimensions of a that it "
        "divides.",
        [](double a, double b) { return a - b; }},
    Row{"mul",
        "Product of each element: y = a * b. b is repeated along the dimensions of a that it "
        "divides.",
        [](double a, double b) { return a * b; }},
    Row{"div",
        "Quotient of each element: y = a / b. b is repeated along the dimensions of a that it "
        "divides.",
        [](double a, double b) { return a / b; }},
};

class Arithmetic final : public OpWith<NoParams> {
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

  void cases(const CaseSink& sink) const override { broadcast_cases(sink); }

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
