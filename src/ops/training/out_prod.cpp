#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/matrix/matrix.h"
#include "ops/training/training.h"
#include "ops/view/view.h"

namespace shunt {

namespace {

class OutProd final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "out_prod",
                                 .family = "training",
                                 .summary =
                                     "Outer products of rows, summed up: y[m, n] = sum over k of "
                                     "a[m, k] * b[n, k]. Slice i2 of b "
                                     "meets slice i2 / (B2 / A2) of a, and so along dimension 3.",
                                 .sources = {"a", "b"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& a = *sources[0];
    const Tensor& b = *sources[1];
    SHUNT_TRY(expect_weight_type("a", a));
    SHUNT_TRY(expect_type("b", b, {DType::kF32}));
    SHUNT_TRY(expect_dim("b", b, 1, a.shape[1], "that of a"));
    for (std::size_t i : {2, 3}) {
      if (divides(a.shape[i], b.shape[i])) continue;
      return invalid("dimension {} of a is {}, which does not divide that of b, {}", i,
                     to_string(a.shape[i]), to_string(b.shape[i]));
    }
    return contiguous(DType::kF32, {a.shape[0], b.shape[0], b.shape[2], b.shape[3]});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& a = *sources[0];
    const RefTensor& b = *sources[1];
    for_each_element(result.sizes, [&](const Sizes& i) {
      const std::int64_t a2 = i[2] / (b.sizes[2] / a.sizes[2]);
      const std::int64_t a3 = i[3] / (b.sizes[3] / a.sizes[3]);
      double sum = 0;
      for (std::int64_t k = 0; k < a.sizes[1]; ++k) {
        sum += a.at(i[0], k, a2, a3) * b.at(i[1], k, i[2], i[3]);
      }
      at(result, i) = sum;
    });
  }

  /// A multiplication and an addition for each k.
  double operations(const Tensor& result, SourceTensors sources, const Params&) const override {
    return 2.0 * static_cast<double>(sources[0]->size(1)) *
           static_cast<double>(element_count(result.shape));
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    GraphBuilder& g = node.g;
    const Result<Value> dy = node.dy();
    if (node.needs_gradient(0)) {
      // da[m, k] = sum over n of dy[m, n] * b[n, k].
      const Result<Value> da = matmul(g, packed(g, transpose(g, dy)), node.source(1));
      SHUNT_TRY(node.add_gradient(0, sum_slices(g, da, node.shape(0))));
    }
    if (!node.needs_gradient(1)) return ok();
    // db[n, k] = sum over m of dy[m, n] * a[m, k].
    return node.add_gradient(1, matmul(g, dy, as_f32(g, node.source(0))));
  }
};

}  // namespace

const Op& out_prod_op() {
  static const OutProd kOp;
  return kOp;
}

Result<Value> out_prod(GraphBuilder& g, Operand a, Operand b) {
  return g.apply(out_prod_op(), Params::of(NoParams{}), {&a, &b});
}

}  // namespace shunt
