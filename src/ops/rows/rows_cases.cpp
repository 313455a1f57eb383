#include <algorithm>

#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/rows/rows.h"

namespace shunt {

namespace {

void get_rows_cases(const Op&, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& table, const CaseSource& ids) {
    const auto rows = static_cast<double>(sizes_of(table)[1]);
    emit_case(sink, Params::of(NoParams{}), {table, filled(ids, Fill::kIndex, 0, rows)}, 0);
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
      // The ids are a column of a matrix.
      emit(source_of(type, {2 * block, 10, 1, 1}),
           seen_as(id_type, {5, 1, 1, 1}, {1, 0, 2, 3}, {0, 2, 0, 0}));
      // Slices, each with ids of its own.
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

void set_rows_cases(const Op&, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& dst, const CaseSource& rows, const CaseSource& ids) {
    const auto high = static_cast<double>(sizes_of(dst)[1]);
    emit_case(sink, Params::of(NoParams{}), {dst, rows, filled(ids, Fill::kPermutation, 0, high)},
              conversion_error(rows.dtype, dst.dtype));
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
      // The ids are a column of a matrix.
      emit(source_of(type, {64, 10, 1, 1}), rows(64, 4),
           seen_as(id_type, {4, 1, 1, 1}, {1, 0, 2, 3}, {0, 1, 0, 0}));
      // Into a window; the memory around it must not change.
      emit(seen_as(type, {64, 8, 1, 1}, {0, 1, 2, 3}, {32, 2, 0, 0}), rows(64, 3), ids(3));
      emit(source_of(type, {64, 10, 1, 1}), seen_as(kF32, {64, 4, 1, 1}, {0, 2, 1, 3}), ids(4));
      emit(source_of(type, {64, 10, 1, 1}), seen_as(kF32, {64, 4, 1, 1}, {1, 0, 2, 3}), ids(4));
      emit(source_of(type, {32, 10, 1, 1}),
           seen_as(kF32, {32, 4, 1, 1}, {0, 1, 2, 3}, {3, 1, 0, 0}), ids(4));
      if (trait(type).quantized) continue;
      emit(source_of(type, {33, 9, 1, 1}), rows(33, 5), ids(5));
      emit(source_of(type, {1, 50, 1, 1}), rows(1, 20), ids(20));
      // Rows of dst that are columns in memory, as in a transposed value cache.
      emit(seen_as(type, {33, 9, 1, 1}, {1, 0, 2, 3}), rows(33, 5), ids(5));
    }
  }
  // Slices with ids of their own, with common ids, and with ids common to some.
  for (DType type : {DType::kF16, DType::kQ8_0}) {
    const CaseSource dst = source_of(type, {64, 7, 4, 3});
    emit(dst, source_of(kF32, {64, 5, 4, 3}), source_of(DType::kI64, {5, 1, 1, 1}));
    emit(dst, source_of(kF32, {64, 1, 4, 3}), source_of(DType::kI32, {1, 2, 3, 1}));
    emit(seen_as(type, {64, 7, 2, 1}, {0, 2, 1, 3}), source_of(kF32, {64, 1, 2, 1}),
         source_of(DType::kI64, {1, 2, 1, 1}));
  }
  // Every type to F32, and F32 to every type.
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

}  // namespace

CaseList rows_cases_list() {
  static constexpr OpCases kCases[] = {
      {get_rows_op, get_rows_cases},
      {set_rows_op, set_rows_cases},
  };
  return kCases;
}

}  // namespace shunt
