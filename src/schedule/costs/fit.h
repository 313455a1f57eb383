// The costs of an op from three to five measurements.
#pragma once

#include "shunt/costs.h"

namespace shunt {

struct CostSample {
  double operations = 0;
  double bytes = 0;
  double seconds = 0;  ///< of one node
};

/// The measurements that the costs of an op are fitted to. `few`, `some` and `many` without
/// operations were not measured.
struct OpSamples {
  CostSample tiny;     ///< so small that only the overhead takes time
  CostSample reading;  ///< bound by memory
  CostSample few;      ///< with a few columns, but enough to separate unpacking from arithmetic
  CostSample some;     ///< with a part of the many, which the same kernel computes
  CostSample many;     ///< bound by arithmetic; without operations where the op never is
};

/// Device, op and type are left empty.
OpCost fit_op_cost(const OpSamples& samples);

}  // namespace shunt
