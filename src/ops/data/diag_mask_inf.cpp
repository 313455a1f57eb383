#include <limits>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "ops/elementwise/elementwise.h"
#include "ops/unary/unary.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

class DiagMaskInf final : public Differentiable<DiagMaskInfParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "diag_mask_inf",
        .family = "data",
        .summary =
            "Hides later tokens from attention: y[i, j] = minus infinity where column i > "
            "n_past + row j, else x[i, j].",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources,
                              const DiagMaskInfParams& params) const override {
    SHUNT_TRY(expect_float_type("x", *sources[0]));
    if (params.n_past < 0) return invalid("n_past is {}, which is negative", params.n_past);
    return contiguous(sources[0]->dtype, sources[0]->shape);
  }

  void plain_reference(RefSources sources, const DiagMaskInfParams& params,
                       RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      const bool hidden = i[0] - i[1] > params.n_past;
      at(result, i) = hidden ? -std::numeric_limits<double>::infinity() : at(*sources[0], i);
    });
  }

  Status gradient_rule(Backward& node, const DiagMaskInfParams& params) const override {
    // 1 where a score is let through, 0 where it is not.
    const Shape x = node.shape(0);
    const Result<Value> scores = zeros(node.g, {x[0], x[1]});
    const Result<Value> seen = exp(node.g, diag_mask_inf(node.g, scores, params.n_past));
    return node.add_gradient(0, mul(node.g, node.dy(), seen));
  }
};

}  // namespace

const Op& diag_mask_inf_op() {
  static const DiagMaskInf kOp;
  return kOp;
}

Result<Value> diag_mask_inf(GraphBuilder& g, Operand x, std::int64_t n_past) {
  return g.apply(diag_mask_inf_op(), Params::of(DiagMaskInfParams{n_past}), {&x});
}

}  // namespace shunt
