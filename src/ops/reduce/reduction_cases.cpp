#include "ops/reduce/reduction_cases.h"

namespace shunt {

void reduction_cases(const CaseSink& sink, const ReductionCases& which) {
  const auto emit = [&](const CaseSource& x, std::string_view extra = "") {
    sink({.name = describe_source(x) + std::string(extra),
          .params = Params::of(NoParams{}),
          .sources = {x},
          .max_error = float_error(x.dtype, kSumError)});
  };
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      if (!which.empty_rows && sizes_of(x)[0] == 0) continue;
      emit(x);
      emit(filled(x, Fill::kUniform, 0, 1), " positive");
    }
    // Longer than what is summed at once.
    emit(source_of(type, {4097, 3, 1, 1}));
    emit(filled(source_of(type, {100003, 1, 1, 1}), Fill::kUniform, 0, which.longest_up_to),
         " positive");
    emit(seen_as(type, {5000, 2, 2, 1}, {1, 0, 2, 3}));
  }
}

}  // namespace shunt
