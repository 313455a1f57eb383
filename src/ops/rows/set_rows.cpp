#include "ops/common/backward.h"
#include "ops/common/cases.h"
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
            "repeated; dst's other rows stay. No number may occur twice. A run with a number that "
            "dst has no row for fails and writes nothing outside of dst.",
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
    if (node.wants(1)) {
      const Result<Value> ids = repeat(node.g, node.source(2), {rows[1], rows[2], rows[3]});
      SHUNT_TRY(node.give(1, get_rows(node.g, node.dy(), ids)));
    }
    if (!node.wants(0)) return ok();
    // What was in these rows is lost.
    return node.give(0,
                     set_rows(node.g, dup(node.g, node.dy()), zeros(node.g, rows), node.source(2)));
  }

  void cases(const CaseSink& sink) const override {
    const auto emit = [&](const CaseSource& dst, const CaseSource& rows, const CaseSource& ids) {
      const auto high = static_cast<double>(sizes_of(dst)[1]);
      const std::vector<CaseSource> sources = {dst, rows, filled(ids, Fill::kPermutation, 0, high)};
      sink({.name = describe_sources(sources),
            .params = Params::of(NoParams{}),
            .sources = sources,
            .max_error = conversion_error(rows.dtype, dst.dtype)});
    };
    constexpr DType kF32 = DType::kF32;
    for (DType type : kCacheTypes) {
      for (DType id_type : {DType::kI64, DType::kI32}) {
        const auto ids = [&](std::int64_t n) { return source_of(id_type, {n, 1, 1, 1}); };
        const auto rows = [&](std::int64_t c, std::int64_t n) {
          return source_of(kF32, {c, n, 1, 1});
        };
        emit(source_of(type, {64, 10, 1, 1}), rows(64, 1), ids(1));
        emit(source_of(type, {64, 10, 1, 1}), rows(64, 7), ids(7));
        emit(source_of(type, {256, 5, 1, 1}), rows(256, 5), ids(5));
        emit(source_of(type, {64, 10, 1, 1}), rows(64, 0), ids(0));
        emit(source_of(type, {64, 0, 1, 1}), rows(64, 0), ids(0));
        // A column of a matrix of numbers.
        emit(source_of(type, {64, 10, 1, 1}), rows(64, 4),
             seen_as(id_type, {4, 1, 1, 1}, {1, 0, 2, 3}, {0, 1, 0, 0}));
        // Into a window; what lies around it must stay.
        emit(seen_as(type, {64, 8, 1, 1}, {0, 1, 2, 3}, {32, 2, 0, 0}), rows(64, 3), ids(3));
        emit(source_of(type, {64, 10, 1, 1}), seen_as(kF32, {64, 4, 1, 1}, {0, 2, 1, 3}), ids(4));
        emit(source_of(type, {64, 10, 1, 1}), seen_as(kF32, {64, 4, 1, 1}, {1, 0, 2, 3}), ids(4));
        emit(source_of(type, {32, 10, 1, 1}),
             seen_as(kF32, {32, 4, 1, 1}, {0, 1, 2, 3}, {3, 1, 0, 0}), ids(4));
        if (trait(type).quantized) continue;
        emit(source_of(type, {33, 9, 1, 1}), rows(33, 5), ids(5));
        emit(source_of(type, {1, 50, 1, 1}), rows(1, 20), ids(20));
        // Rows of dst that are columns in memory, as transposed values of a cache are.
        emit(seen_as(type, {33, 9, 1, 1}, {1, 0, 2, 3}), rows(33, 5), ids(5));
      }
    }
    // Slices: numbers of their own, the same for all, and the same for some.
    for (DType type : {DType::kF16, DType::kQ8_0}) {
      const CaseSource dst = source_of(type, {64, 7, 4, 3});
      emit(dst, source_of(kF32, {64, 5, 4, 3}), source_of(DType::kI64, {5, 1, 1, 1}));
      emit(dst, source_of(kF32, {64, 1, 4, 3}), source_of(DType::kI32, {1, 2, 3, 1}));
      emit(seen_as(type, {64, 7, 2, 1}, {0, 2, 1, 3}), source_of(kF32, {64, 1, 2, 1}),
           source_of(DType::kI64, {1, 2, 1, 1}));
    }
    // Every type into F32, and of F32 every type.
    for (const DTypeTrait& type : dtypes()) {
      const auto whole = [&](const CaseSource& rows) {
        return type.integer ? filled(rows, Fill::kIndex, -100, 100) : rows;
      };
      const Sizes table = {std::max<std::int64_t>(33, 2 * type.block_elements), 6, 1, 1};
      const Sizes some = {table[0], 4, 1, 1};
      const CaseSource ids = source_of(DType::kI32, {4, 1, 1, 1});
      if (type.dtype != kF32) emit(source_of(kF32, table), source_of(type.dtype, some), ids);
      if (type.encode == nullptr) continue;
      emit(source_of(type.dtype, table), whole(source_of(kF32, some)), ids);
    }
    emit(source_of(DType::kI64, {9, 6, 1, 1}), source_of(DType::kI32, {9, 4, 1, 1}),
         source_of(DType::kI32, {4, 1, 1, 1}));
    emit(source_of(DType::kF16, {64, 6, 1, 1}), source_of(DType::kQ4_0, {64, 4, 1, 1}),
         source_of(DType::kI32, {4, 1, 1, 1}));
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
