#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/sample/sample.h"

namespace shunt {

namespace {

void cube_cases(const Op&, const CaseSink& sink) {
  for (const CaseSource& x : unary_sources(DType::kF32)) {
    emit_case(sink, Params::of(CubeParams{.factor = 0.5F}), {x}, kElementError);
  }
}

}  // namespace

CaseList sample_cases_list() {
  static constexpr OpCases kCases[] = {
      {cube_op, cube_cases},
  };
  return kCases;
}

}  // namespace shunt
