#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/reduce/reduce.h"

namespace shunt {

namespace {

struct ReductionCases {
  double longest_up_to = 1;  ///< upper bound of the positive values of the longest row
  bool empty_rows = true;    ///< also rows without elements
};

void reduction_cases(const CaseSink& sink, const ReductionCases& which) {
  const auto emit = [&](const CaseSource& x, std::string_view extra = "") {
    emit_case(sink, Params::of(NoParams{}), {x}, float_error(x.dtype, kSumError), extra);
  };
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      if (!which.empty_rows && sizes_of(x)[0] == 0) continue;
      emit(x);
      emit(filled(x, Fill::kUniform, 0, 1), "positive");
    }
    // Longer than one block of a sum.
    emit(source_of(type, {4097, 3, 1, 1}));
    emit(filled(source_of(type, {100003, 1, 1, 1}), Fill::kUniform, 0, which.longest_up_to),
         "positive");
    emit(seen_as(type, {5000, 2, 2, 1}, {1, 0, 2, 3}));
  }
}

void cumsum_cases(const Op&, const CaseSink& sink) {
  reduction_cases(sink, {.longest_up_to = 0.5});
}

void mean_cases(const Op&, const CaseSink& sink) {
  reduction_cases(sink, {.empty_rows = false});
}

void sum_cases(const Op&, const CaseSink& sink) {
  reduction_cases(sink, {});
}

}  // namespace

CaseList reduce_cases_list() {
  static constexpr OpCases kCases[] = {
      {cumsum_op, cumsum_cases},
      {mean_op, mean_cases},
      {sum_op, sum_cases},
      {sum_rows_op, sum_cases},
  };
  return kCases;
}

}  // namespace shunt
