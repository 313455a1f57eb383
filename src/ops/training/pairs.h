// Ops of two sources of the same shape, F32 in most.
#pragma once

#include <vector>

#include "ops/common/cases.h"

namespace shunt {

/// Sources `a` and `b` are F32 and of the same shape.
Status expect_pair(const OpInfo& info, SourceTensors sources, std::size_t a, std::size_t b);

/// Shapes and strides of a pair; every one with the first of `params`, plain ones with all. `b`
/// says how the second is filled, `before` and `after` what comes around the pair.
struct PairCases {
  std::vector<Params> params = {};
  std::array<DType, 2> types = {DType::kF32, DType::kF32};
  Fill b = Fill::kNormal;
  double b_low = 0;
  double b_high = 1;
  std::vector<CaseSource> before = {};
  std::vector<CaseSource> after = {};
  double max_error = kElementError;
};
void pair_cases(const Op& op, const CaseSink& sink, const PairCases& how);

}  // namespace shunt
