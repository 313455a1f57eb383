#include "ops/common/checks.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class GetRowsBack final : public OpWith<GetRowsBackParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "get_rows_back",
        .family = "training",
        .summary =
            "Gradient of get_rows: dtable[:, r] is the sum of dy[:, i] over all i "
            "with ids[i] = r. A run fails if ids has a number without a "
            "row in the table. All floats are F32.",
        .sources = {"dy", "ids"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources,
                              const GetRowsBackParams& params) const override {
    const Tensor& dy = *sources[0];
    const Tensor& ids = *sources[1];
    SHUNT_TRY(expect_type("dy", dy, {DType::kF32}));
    SHUNT_TRY(expect_id_type("ids", ids));
    SHUNT_TRY(expect_dims("dy", dy, 2));
    SHUNT_TRY(expect_dims("ids", ids, 1));
    SHUNT_TRY(expect_dim("ids", ids, 0, dy.shape[1], "the number of rows of dy"));
    if (params.rows < 0) return invalid("rows is {}, which is negative", params.rows);
    return contiguous(DType::kF32, {dy.shape[0], params.rows, 1, 1});
  }

  void plain_reference(RefSources sources, const GetRowsBackParams&,
                       RefTensor& result) const override {
    const RefTensor& dy = *sources[0];
    for (std::int64_t i = 0; i < dy.sizes[1]; ++i) {
      const auto row = static_cast<std::int64_t>(sources[1]->at(i));
      if (row < 0 || row >= result.sizes[1]) continue;
      for (std::int64_t c = 0; c < dy.sizes[0]; ++c) result.at(c, row) += dy.at(c, i);
    }
  }
};

}  // namespace

const Op& get_rows_back_op() {
  static const GetRowsBack kOp;
  return kOp;
}

Result<Value> get_rows_back(GraphBuilder& g, Operand dy, Operand ids, std::int64_t rows) {
  return g.apply(get_rows_back_op(), Params::of(GetRowsBackParams{rows}), {&dy, &ids});
}

}  // namespace shunt
