#include "schedule/costs/fit.h"

#include <algorithm>

namespace shunt {

OpCost fit_op_cost(const CostSample& tiny, const CostSample& reading, const CostSample& heavy) {
  OpCost cost;
  cost.overhead = std::min(
      {tiny.seconds, reading.seconds, heavy.operations > 0 ? heavy.seconds : reading.seconds});
  if (reading.bytes > 0) cost.seconds_per_byte = (reading.seconds - cost.overhead) / reading.bytes;
  if (heavy.operations > 0)
    cost.seconds_per_operation = (heavy.seconds - cost.overhead) / heavy.operations;
  return cost;
}

}  // namespace shunt
