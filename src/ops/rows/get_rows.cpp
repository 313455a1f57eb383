#include <algorithm>
#include <vector>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/rows/rows.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class GetRows final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "get_rows",
        .family = "rows",
        .summary =
            "Rows of a table by their numbers: y[:, i] = table[:, ids[i]], and so for each slice "
            "along dimensions 2 and 3. A run fails if ids has a number without a row in the table.",
        .sources = {"table", "ids"},
        .picks = Picks{.ids = 1, .dim = 1}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& table = *sources[0];
    const Tensor& ids = *sources[1];
    SHUNT_TRY(expect_id_type("ids", ids));
    SHUNT_TRY(expect_dims("ids", ids, 3));
    SHUNT_TRY(expect_dim("table", table, 2, ids.shape[1], "dimension 1 of ids"));
    SHUNT_TRY(expect_dim("table", table, 3, ids.shape[2], "dimension 2 of ids"));
    const bool keeps = trait(table.dtype).integer || table.dtype == DType::kF64;
    return contiguous(keeps ? table.dtype : DType::kF32,
                      {table.shape[0], ids.shape[0], ids.shape[1], ids.shape[2]});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& table = *sources[0];
    for_each_row(result.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      const auto row = static_cast<std::int64_t>(sources[1]->at(i1, i2, i3));
      if (row < 0 || row >= table.sizes[1]) return;
      for (std::int64_t c = 0; c < result.sizes[0]; ++c) {
        result.at(c, i1, i2, i3) = table.at(c, row, i2, i3);
      }
    });
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    const Shape table = node.shape(0);
    if (table[2] != Dim(1) || table[3] != Dim(1))
      return fail(ErrorCode::kUnsupported, "the gradient rule is for a table of one slice");
    SHUNT_TRY(expect_fixed_for(table[1], "the number of rows of the table"));
    return node.add_gradient(0, get_rows_back(node.g, node.dy(), node.source(1), table[1].max));
  }
};

}  // namespace

const Op& get_rows_op() {
  static const GetRows kOp;
  return kOp;
}

Result<Value> get_rows(GraphBuilder& g, Operand table, Operand ids) {
  return g.apply(get_rows_op(), Params::of(NoParams{}), {&table, &ids});
}

}  // namespace shunt
