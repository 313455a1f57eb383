#include <algorithm>
#include <vector>

#include "ops/common/backward.h"
#include "ops/common/cases.h"
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
            "along dimensions 2 and 3. A run with a number that the table has no row for fails.",
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
    return node.give(0, get_rows_back(node.g, node.dy(), node.source(1), table[1].max));
  }

  void cases(const CaseSink& sink) const override {
    const auto emit = [&](const CaseSource& table, const CaseSource& ids) {
      const auto rows = static_cast<double>(sizes_of(table)[1]);
      const std::vector<CaseSource> sources = {table, filled(ids, Fill::kIndex, 0, rows)};
      sink({.name = describe_sources(sources),
            .params = Params::of(NoParams{}),
            .sources = sources,
            .max_error = 0});
    };
    for (const DTypeTrait& table_type : dtypes()) {
      const DType type = table_type.dtype;
      const std::int64_t block = std::max<std::int64_t>(32, trait(type).block_elements);
      for (DType id_type : kIdTypes) {
        const auto ids = [&](std::int64_t n) { return source_of(id_type, {n, 1, 1, 1}); };
        emit(source_of(type, {2 * block, 10, 1, 1}), ids(1));
        emit(source_of(type, {block, 1, 1, 1}), ids(3));
        emit(source_of(type, {256, 5, 1, 1}), ids(17));
        emit(source_of(type, {2 * block, 10, 1, 1}), ids(0));
        emit(source_of(type, {2 * block, 0, 1, 1}), ids(0));
        emit(seen_as(type, {2 * block, 6, 1, 1}, {0, 2, 1, 3}), ids(4));
        emit(seen_as(type, {2 * block, 6, 1, 1}, {0, 1, 2, 3}, {block, 3, 0, 0}), ids(9));
        // A column of a matrix of numbers.
        emit(source_of(type, {2 * block, 10, 1, 1}),
             seen_as(id_type, {5, 1, 1, 1}, {1, 0, 2, 3}, {0, 2, 0, 0}));
        // Slices, each with its numbers.
        emit(source_of(type, {256, 5, 3, 2}), source_of(id_type, {4, 3, 2, 1}));
        emit(seen_as(type, {256, 5, 3, 1}, {0, 2, 1, 3}),
             seen_as(id_type, {4, 3, 1, 1}, {1, 0, 2, 3}, {1, 0, 0, 0}));
        if (trait(type).quantized) continue;
        emit(source_of(type, {1, 8, 5, 1}), source_of(id_type, {2, 5, 1, 1}));
        emit(source_of(type, {33, 7, 1, 1}), ids(5));
        emit(source_of(type, {1, 100, 1, 1}), ids(40));
        emit(seen_as(type, {33, 7, 1, 1}, {1, 0, 2, 3}), ids(5));
      }
    }
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
