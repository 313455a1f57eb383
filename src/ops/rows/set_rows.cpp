#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "ops/rows/rows.h"

namespace shunt {

namespace {

class SetRows final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "set_rows",
        .family = "rows",
        .summary =
            "Writes rows by their numbers into dst, converted to its type: dst[:, ids[i]] = "
            "rows[:, i], and so for each slice along dimensions 2 and 3, over which ids are "
            "repeated; dst's other rows stay. No number may occur twice. A run fails if ids has a "
            "number without a row in dst, and it writes nothing outside of dst.",
        .sources = {"dst", "rows", "ids"},
        .storage = Storage::kIntoFirst};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& dst = *sources[0];
    const Tensor& rows = *sources[1];
    const Tensor& ids = *sources[2];
    SHUNT_TRY(expect_conversion("rows", rows, "dst", dst));
    SHUNT_TRY(expect_id_type("ids", ids));
    SHUNT_TRY(expect_dims("ids", ids, 3));
    for (int dim : {0, 2, 3}) {
      SHUNT_TRY(
          expect_dim("rows", rows, dim, dst.shape[static_cast<std::size_t>(dim)], "that of dst"));
    }
    SHUNT_TRY(expect_dim("ids", ids, 0, rows.shape[1], "the number of rows"));
    for (std::size_t dim : {1U, 2U}) {
      if (divides(ids.shape[dim], rows.shape[dim + 1])) continue;
      return invalid("dimension {} of ids is {}, which does not divide dimension {} of rows, {}",
                     dim, to_string(ids.shape[dim]), dim + 1, to_string(rows.shape[dim + 1]));
    }
    return Inferred{dst};
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& rows = *sources[1];
    const RefTensor& ids = *sources[2];
    for_each_row(rows.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      const auto row = static_cast<std::int64_t>(ids.at(i1, i2 % ids.sizes[1], i3 % ids.sizes[2]));
      if (row < 0 || row >= result.sizes[1]) return;
      for (std::int64_t c = 0; c < rows.sizes[0]; ++c) {
        result.at(c, row, i2, i3) = rows.at(c, i1, i2, i3);
      }
    });
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    const Shape rows = node.shape(1);
    if (node.needs_gradient(1)) {
      const Result<Value> ids = repeat(node.g, node.source(2), {rows[1], rows[2], rows[3]});
      SHUNT_TRY(node.add_gradient(1, get_rows(node.g, node.dy(), ids)));
    }
    if (!node.needs_gradient(0)) return ok();
    // The previous content of these rows is lost.
    return node.add_gradient(
        0, set_rows(node.g, dup(node.g, node.dy()), zeros(node.g, rows), node.source(2)));
  }
};

}  // namespace

const Op& set_rows_op() {
  static const SetRows kOp;
  return kOp;
}

Result<Value> set_rows(GraphBuilder& g, Operand dst, Operand rows, Operand ids) {
  return g.apply(set_rows_op(), Params::of(NoParams{}), {&dst, &rows, &ids});
}

}  // namespace shunt
