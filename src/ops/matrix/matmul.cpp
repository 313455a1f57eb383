#include <algorithm>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/matrix/matmul_back.h"
#include "ops/matrix/matrix.h"

namespace shunt {

namespace {

class Matmul final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "matmul",
        .family = "matrix",
        .summary =
            "Product of matrices: y[m, n] = sum over k of w[k, m] * x[k, n]. Along dimensions 2 "
            "and 3 the one with fewer slices is repeated: slice i2 of y is that of slice i2 / "
            "(Y2 / W2) of w and of slice i2 / (Y2 / X2) of x. w is of any type but F64 and "
            "integers. Where w is quantised, a device may round x to blocks of 8-bit integers, at "
            "a normalised mean square error of at most 4e-5 * (1 + 64 / n) over n elements of y. "
            "Where w is BF16, it may round x to BF16, at one of at most 6e-6 * (1 + 64 / n), and "
            "take numbers below 2^-126 for 0.",
        .sources = {"w", "x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& w = *sources[0];
    const Tensor& x = *sources[1];
    SHUNT_TRY(expect_weight_type("w", w));
    SHUNT_TRY(expect_type("x", x, {DType::kF32, DType::kF16, DType::kBF16}));
    SHUNT_TRY(expect_dim("x", x, 0, w.shape[0], "that of w"));
    Shape shape = {w.shape[1], x.shape[1]};
    for (std::size_t i : {2, 3}) {
      const bool repeats_w = divides(w.shape[i], x.shape[i]);
      if (!repeats_w && !divides(x.shape[i], w.shape[i])) {
        return invalid(
            "dimension {} of w is {}, and that of x is {}, neither of which divides "
            "the other",
            i, to_string(w.shape[i]), to_string(x.shape[i]));
      }
      shape[i] = repeats_w ? x.shape[i] : w.shape[i];
    }
    return contiguous(DType::kF32, shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& w = *sources[0];
    const RefTensor& x = *sources[1];
    const Sizes& y = result.sizes;
    for_each_element(y, [&](const Sizes& i) {
      const auto row = [&](const RefTensor& of, std::int64_t i1) {
        const auto slice = [&](std::size_t d) { return i[d] / (y[d] / of.sizes[d]); };
        return of.data.data() + of.index(0, i1, slice(2), slice(3));
      };
      const double* w_row = row(w, i[0]);
      const double* x_row = row(x, i[1]);
      double sum = 0;
      for (std::int64_t k = 0; k < x.sizes[0]; ++k) sum += w_row[k] * x_row[k];
      at(result, i) = sum;
    });
  }

  /// A multiplication and an addition for each k.
  double operations(const Tensor& result, SourceTensors sources, const Params&) const override {
    return 2.0 * static_cast<double>(sources[0]->size(0)) *
           static_cast<double>(element_count(result.shape));
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    const Result<Value> dy = node.dy();
    if (node.needs_gradient(0)) {
      SHUNT_TRY(node.add_gradient(0, matmul_back_by_w(node.g, dy, node.source(1), node.shape(0))));
    }
    if (!node.needs_gradient(1)) return ok();
    return node.add_gradient(1, matmul_back_by_x(node.g, dy, node.source(0), node.shape(1)));
  }
};

}  // namespace

const Op& matmul_op() {
  static const Matmul kOp;
  return kOp;
}

Result<Value> matmul(GraphBuilder& g, Operand w, Operand x) {
  return g.apply(matmul_op(), Params::of(NoParams{}), {&w, &x});
}

}  // namespace shunt
