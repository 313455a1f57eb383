#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

class Tri final : public Differentiable<TriParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "tri",
        .family = "data",
        .summary =
            "A triangle of each matrix, 0 elsewhere: y[i, j] = x[i, j] where i < j (lower) "
            "or i > j (upper), for column i of row j, and where i = j if `diagonal`.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const TriParams&) const override {
    SHUNT_TRY(expect_plain_type("x", *sources[0]));
    return contiguous(sources[0]->dtype, sources[0]->shape);
  }

  void plain_reference(RefSources sources, const TriParams& params,
                       RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      const bool kept = i[0] == i[1]                          ? params.diagonal
                        : params.triangle == Triangle::kLower ? i[0] < i[1]
                                                              : i[0] > i[1];
      at(result, i) = kept ? at(*sources[0], i) : 0;
    });
  }

  Status gradient_rule(Backward& node, const TriParams& params) const override {
    return node.add_gradient(0, tri(node.g, node.dy(), params));
  }
};

}  // namespace

std::string_view to_string(Triangle triangle) {
  return triangle == Triangle::kLower ? "lower" : "upper";
}

const Op& tri_op() {
  static const Tri kOp;
  return kOp;
}

Result<Value> tri(GraphBuilder& g, Operand x, TriParams params) {
  return g.apply(tri_op(), Params::of(params), {&x});
}

}  // namespace shunt
