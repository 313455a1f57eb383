#include <algorithm>

#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/view/view.h"

namespace shunt {

namespace {

void permute_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const std::array<int, kMaxDims>& axes) {
    const Params params = Params::of(PermuteParams{axes});
    emit_case(sink, params, {x}, 0, op.describe(params));
  };
  for (DType type : kCacheTypes) {
    emit(source_of(type, {64, 5, 3, 2}), {0, 1, 2, 3});
    emit(source_of(type, {64, 5, 3, 2}), {0, 2, 1, 3});
    emit(source_of(type, {64, 0, 3, 2}), {0, 2, 1, 3});
    emit(source_of(type, {64, 5, 3, 2}), {0, 3, 1, 2});
    emit(seen_as(type, {64, 5, 3, 2}, {0, 2, 1, 3}), {0, 2, 1, 3});
    emit(seen_as(type, {64, 5, 3, 2}, {0, 1, 2, 3}, {32, 1, 1, 0}), {0, 2, 3, 1});
  }
  for (const DTypeTrait& type : dtypes()) {
    const bool plain = type.block_elements == 1;
    const Sizes sizes = {plain ? 7 : 2 * type.block_elements, 4, 3, 2};
    std::array<int, kMaxDims> axes = {0, 1, 2, 3};
    while (std::next_permutation(axes.begin(), axes.end()) && (plain || axes[0] == 0)) {
      emit(source_of(type.dtype, sizes), axes);
    }
    if (plain) emit(seen_as(type.dtype, sizes, {1, 2, 0, 3}), {1, 2, 0, 3});
  }
}

void reshape_cases(const Op&, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const Shape& shape) {
    emit_case(sink, Params::of(ReshapeParams{shape}), {x}, 0, "to " + to_string(shape));
  };
  for (DType type : kCacheTypes) {
    emit(source_of(type, {64, 6, 1, 1}), {64, 2, 3});
    emit(source_of(type, {64, 6, 1, 1}), {32, 12});
    emit(source_of(type, {64, 2, 3, 2}), {64 * 2, 6});
    emit(source_of(type, {64, 2, 3, 2}), {64 * 12});
    emit(source_of(type, {64, 0, 3, 1}), {32, 3, 0});
    emit(seen_as(type, {64, 3, 1, 1}, {0, 1, 2, 3}, {0, 2, 0, 0}), {32, 6});
  }
  emit(source_of(DType::kF32, {7, 3, 2, 1}), {3, 14});
  emit(source_of(DType::kI32, {12, 1, 1, 1}), {1, 12});
  // Not contiguous, but each group of dimensions that are merged is.
  for (DType type : kWeightTypes) {
    const std::int64_t half = round_up(32, trait(type).block_elements);
    const std::int64_t row = 2 * half;
    const CaseSource rows = seen_as(type, {row, 6, 2, 1}, {0, 1, 2, 3}, {0, 2, 0, 0});
    emit(rows, {half, 2, 6, 2});
    emit(rows, {row * 6, 2});
    emit(rows, {row, 2, 3, 2});
    emit(rows, {row, 6, 1, 2});
    emit(seen_as(type, {row, 6, 2, 1}, {0, 1, 2, 3}, {row, 0, 0, 0}), {row, 12});
    emit(seen_as(type, {row, 6, 4, 1}, {0, 2, 1, 3}), {row, 6, 2, 2});
    emit(seen_as(type, {half, 6, 2, 1}, {0, 1, 2, 3}, {half, 0, 0, 0}), {half, 1, 3, 4});
  }
  emit(seen_as(DType::kF32, {6, 4, 3, 1}, {1, 0, 2, 3}), {3, 2, 4, 3});
  emit(seen_as(DType::kF32, {6, 4, 1, 1}, {1, 0, 2, 3}), {1, 6, 2, 2});
  emit(seen_as(DType::kF32, {1, 4, 6, 1}, {0, 1, 2, 3}, {2, 0, 0, 0}), {24});
}

void transpose_cases(const Op&, const CaseSink& sink) {
  for (DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kI32, DType::kI64}) {
    for (const CaseSource& x : unary_sources(type)) {
      emit_case(sink, Params::of(NoParams{}), {x}, 0);
    }
  }
}

void view_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const Sizes& start, const Shape& shape) {
    const Params params = Params::of(ViewParams{start, shape});
    emit_case(sink, params, {x}, 0, op.describe(params));
  };
  for (DType type : kCacheTypes) {
    const CaseSource x = source_of(type, {96, 5, 4, 2});
    emit(x, {0, 0, 0, 0}, {96, 5, 4, 2});
    emit(x, {0, 2, 0, 0}, {96, 3, 4, 2});
    emit(x, {0, 0, 1, 1}, {96, 5, 2, 1});
    emit(x, {32, 1, 0, 0}, {64, 4, 4, 2});
    emit(x, {0, 5, 0, 0}, {96, 0, 4, 2});
    emit(source_of(type, {96, 0, 4, 2}), {32, 0, 1, 1}, {64, 0, 2, 1});
    emit(seen_as(type, {96, 5, 4, 2}, {0, 2, 1, 3}), {32, 1, 2, 0}, {32, 2, 2, 2});
    emit(seen_as(type, {96, 5, 4, 2}, {0, 1, 2, 3}, {32, 1, 0, 0}), {64, 2, 2, 1}, {32, 2, 1, 1});
  }
  for (const DTypeTrait& type : dtypes()) {
    const std::int64_t block = type.block_elements;
    // One element or block from every corner.
    const CaseSource x = source_of(type.dtype, {2 * block, 2, 2, 2});
    for (std::int64_t i = 0; i < 16; ++i) {
      emit(x, {(i & 1) * block, i >> 1 & 1, i >> 2 & 1, i >> 3}, {block, 1, 1, 1});
    }
    emit(source_of(type.dtype, {3 * block, 5, 1, 1}), {block, 1, 0, 0}, {2 * block, 3});
    if (block > 1) continue;
    emit(source_of(type.dtype, {7, 5, 1, 1}), {3, 1, 0, 0}, {2, 3});
    emit(seen_as(type.dtype, {7, 5, 2, 1}, {1, 0, 2, 3}), {3, 1, 1, 0}, {4, 3});
  }
}

}  // namespace

CaseList view_cases_list() {
  static constexpr OpCases kCases[] = {
      {permute_op, permute_cases},
      {reshape_op, reshape_cases},
      {transpose_op, transpose_cases},
      {view_op, view_cases},
  };
  return kCases;
}

}  // namespace shunt
