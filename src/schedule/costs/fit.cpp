#include "schedule/costs/fit.h"

#include <algorithm>

namespace shunt {

namespace {

/// Sets the costs of arithmetic from two samples s: s.seconds - overhead = s.bytes * unpack +
/// s.operations * arithmetic. Samples that give a cost below zero leave all to arithmetic.
void fit_arithmetic(const CostSample& heavy, const CostSample& few, OpCost& cost) {
  cost.seconds_per_operation = (heavy.seconds - cost.overhead) / heavy.operations;
  const double of_heavy = heavy.seconds - cost.overhead;
  const double of_few = few.seconds - cost.overhead;
  // Cramer's rule.
  const double determinant = few.bytes * heavy.operations - heavy.bytes * few.operations;
  if (!(few.operations > 0) || !(determinant > 0)) return;
  const double unpack = (of_few * heavy.operations - of_heavy * few.operations) / determinant;
  const double arithmetic = (few.bytes * of_heavy - heavy.bytes * of_few) / determinant;
  if (!(unpack > 0) || !(arithmetic > 0)) return;
  cost.unpack_seconds_per_byte = unpack;
  cost.seconds_per_operation = arithmetic;
  cost.few_seconds_per_operation = of_few / few.operations;
}

}  // namespace

OpCost fit_op_cost(const CostSample& tiny, const CostSample& reading, const CostSample& heavy,
                   const CostSample& few) {
  OpCost cost;
  cost.overhead = std::min(
      {tiny.seconds, reading.seconds, heavy.operations > 0 ? heavy.seconds : reading.seconds});
  if (few.operations > 0) cost.overhead = std::min(cost.overhead, few.seconds);
  if (reading.bytes > 0) cost.seconds_per_byte = (reading.seconds - cost.overhead) / reading.bytes;
  if (heavy.operations > 0) fit_arithmetic(heavy, few, cost);
  return cost;
}

}  // namespace shunt
