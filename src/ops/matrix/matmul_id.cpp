#include <algorithm>
#include <optional>

#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/matrix/matrix.h"

namespace shunt {

namespace {

class MatmulId final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "matmul_id",
        .family = "matrix",
        .summary =
            "Product of each token with the matrices of the experts that are chosen for it: y[m, "
            "u, t] = sum over k of w[k, m, ids[u, t]] * x[k, u, t], where x may have one column "
            "for all u. A run fails if ids has a number without an expert. w is of any type "
            "but F64 and integers. Where w is quantised, a device may round x to blocks of 8-bit "
            "integers, at a normalised mean square error of at most 4e-5 * (1 + 64 / n) over n "
            "elements of y.",
        .sources = {"w", "x", "ids"},
        .picks = Picks{.ids = 2, .dim = 2}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& w = *sources[0];
    const Tensor& x = *sources[1];
    const Tensor& ids = *sources[2];
    SHUNT_TRY(expect_weight_type("w", w));
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_id_type("ids", ids));
    SHUNT_TRY(expect_dims("w", w, 3));
    SHUNT_TRY(expect_dims("x", x, 3));
    SHUNT_TRY(expect_dims("ids", ids, 2));
    SHUNT_TRY(expect_dim("x", x, 0, w.shape[0], "that of w"));
    SHUNT_TRY(expect_dim("x", x, 2, ids.shape[1], "dimension 1 of ids"));
    if (x.shape[1] != Dim(1)) SHUNT_TRY(expect_dim("x", x, 1, ids.shape[0], "dimension 0 of ids"));
    return contiguous(DType::kF32, {w.shape[1], ids.shape[0], ids.shape[1], 1});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& w = *sources[0];
    const RefTensor& x = *sources[1];
    for_each_element(result.sizes, [&](const Sizes& i) {
      const auto expert = static_cast<std::int64_t>(sources[2]->at(i[1], i[2]));
      if (expert < 0 || expert >= w.sizes[2]) return;
      const std::int64_t column = x.sizes[1] == 1 ? 0 : i[1];
      const double* w_row = w.data.data() + w.index(0, i[0], expert, 0);
      const double* x_row = x.data.data() + x.index(0, column, i[2], 0);
      double sum = 0;
      for (std::int64_t k = 0; k < w.sizes[0]; ++k) sum += w_row[k] * x_row[k];
      at(result, i) = sum;
    });
  }

  /// A multiplication and an addition for each k.
  double operations(const Tensor& result, SourceTensors sources, const Params&) const override {
    return 2.0 * static_cast<double>(sources[0]->size(0)) *
           static_cast<double>(element_count(result.shape));
  }
};

}  // namespace

const Op& matmul_id_op() {
  static const MatmulId kOp;
  return kOp;
}

Result<Value> matmul_id(GraphBuilder& g, Operand w, Operand x, Operand ids) {
  return g.apply(matmul_id_op(), Params::of(NoParams{}), {&w, &x, &ids});
}

}  // namespace shunt
