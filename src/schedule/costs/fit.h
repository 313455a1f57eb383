// The costs of an op from three or four measurements.
#pragma once

#include "shunt/costs.h"

namespace shunt {

struct CostSample {
  double operations = 0;
  double bytes = 0;
  double seconds = 0;  ///< of one node
};

/// `tiny`: so small that the overhead is all. `reading`: bound by memory. `heavy`: bound by
/// arithmetic, or without operations where the op never is. `few`: as `heavy`, with fewer columns,
/// or without operations if it was not measured or has too few columns to tell arithmetic apart.
/// Device, op and type are left empty.
OpCost fit_op_cost(const CostSample& tiny, const CostSample& reading, const CostSample& heavy,
                   const CostSample& few = {});

}  // namespace shunt
