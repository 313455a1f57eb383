// Test cases of recurrences over keys and values.
#pragma once

#include <vector>

#include "graph/op.h"

namespace shunt {

struct HeadSize {
  std::int64_t k, v, h, t, s;
};

/// Emits sizes, states by number and strides. `sources_of` gives an op's sources for a size: all
/// but the ids, and with a state for each sequence, last. Every case has the first of `params`, and
/// one has each of the others.
void recurrence_cases(const Op& op, const CaseSink& sink,
                      std::vector<CaseSource> (*sources_of)(const HeadSize& size),
                      const std::vector<Params>& params);

}  // namespace shunt
