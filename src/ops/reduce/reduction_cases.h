// Cases of the ops that sum along rows and have no parameters.
#pragma once

#include "ops/common/cases.h"

namespace shunt {

struct ReductionCases {
  double longest_up_to = 1;  ///< of the positive values of the longest row
  bool empty_rows = true;    ///< rows without elements, too
};

void reduction_cases(const CaseSink& sink, const ReductionCases& which);

}  // namespace shunt
