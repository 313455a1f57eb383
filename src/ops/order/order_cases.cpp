#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/order/order.h"

namespace shunt {

namespace {

void argmax_cases(const Op&, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, std::string_view extra = "") {
    emit_case(sink, Params::of(NoParams{}), {x}, 0, extra);
  };
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      if (sizes_of(x)[0] == 0) continue;
      emit(x);
      emit(filled(x, Fill::kIndex, 0, 4), "of equals");
      emit(filled(x, Fill::kUniform, -9, -1), "negative");
    }
    // The length of a vocabulary.
    for (std::int64_t size : {1000, 4097, 32000}) emit(source_of(type, {size, 2, 1, 1}));
    emit(filled(source_of(type, {4097, 3, 1, 1}), Fill::kIndex, 0, 40), "of equals");
  }
}

void argsort_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const ArgsortParams& params, const char* extra = "") {
    emit_case(sink, Params::of(params), {x}, 0, op.describe(Params::of(params)) + extra);
  };
  for (const SortOrder order : {SortOrder::kAscending, SortOrder::kDescending}) {
    for (DType type : kFloatTypes) {
      for (const CaseSource& x : unary_sources(type)) {
        emit(x, {order});
        emit(filled(x, Fill::kIndex, 0, 4), {order}, " of equals");
      }
      emit(source_of(type, {1000, 2, 1, 1}), {order});
    }
  }
}

void top_k_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const TopKParams& params, const char* extra = "") {
    emit_case(sink, Params::of(params), {x}, 0, op.describe(Params::of(params)) + extra);
  };
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      const std::int64_t columns = sizes_of(x)[0];
      if (columns == 0) continue;
      emit(x, {1});
      emit(filled(x, Fill::kIndex, 0, 4), {columns}, " of equals");
      if (columns > 2) emit(x, {2});
      if (columns > 6) emit(x, {columns - 1});
    }
    emit(source_of(type, {2000, 2, 1, 1}), {40});
    emit(filled(source_of(type, {2000, 2, 1, 1}), Fill::kIndex, 0, 99), {40}, " of equals");
  }
}

}  // namespace

CaseList order_cases_list() {
  static constexpr OpCases kCases[] = {
      {argmax_op, argmax_cases},
      {argsort_op, argsort_cases},
      {top_k_op, top_k_cases},
  };
  return kCases;
}

}  // namespace shunt
