#include "schedule/costs/fit.h"

#include <algorithm>

namespace shunt {

namespace {

bool is_measured(const CostSample& sample) {
  return sample.operations > 0;
}

/// Sets the costs of arithmetic. Two samples s, `many` and one with fewer columns, give
/// s.seconds - overhead = s.bytes * unpack + s.operations * arithmetic. Samples that give a cost
/// below zero, or few columns that take less time for an operation than many, leave all to
/// arithmetic.
void fit_arithmetic(const OpSamples& samples, OpCost& cost) {
  const CostSample& many = samples.many;
  const double of_many = many.seconds - cost.overhead;
  cost.seconds_per_operation = of_many / many.operations;
  if (!is_measured(samples.few)) return;
  const double few_operation = (samples.few.seconds - cost.overhead) / samples.few.operations;
  if (!(few_operation > cost.seconds_per_operation)) return;
  const CostSample& fewer = is_measured(samples.some) ? samples.some : samples.few;
  const double of_fewer = fewer.seconds - cost.overhead;
  // Cramer's rule.
  const double determinant = fewer.bytes * many.operations - many.bytes * fewer.operations;
  if (!(determinant > 0)) return;
  const double unpack = (of_fewer * many.operations - of_many * fewer.operations) / determinant;
  const double arithmetic = (fewer.bytes * of_many - many.bytes * of_fewer) / determinant;
  if (!(unpack > 0) || !(arithmetic > 0)) return;
  cost.unpack_seconds_per_byte = unpack;
  cost.seconds_per_operation = arithmetic;
  cost.few_seconds_per_operation = few_operation;
}

}  // namespace

OpCost fit_op_cost(const OpSamples& samples) {
  OpCost cost;
  cost.overhead = std::min(samples.tiny.seconds, samples.reading.seconds);
  for (const CostSample* sample : {&samples.few, &samples.some, &samples.many}) {
    if (is_measured(*sample)) cost.overhead = std::min(cost.overhead, sample->seconds);
  }
  const CostSample& reading = samples.reading;
  if (reading.bytes > 0) cost.seconds_per_byte = (reading.seconds - cost.overhead) / reading.bytes;
  if (is_measured(samples.many)) fit_arithmetic(samples, cost);
  return cost;
}

}  // namespace shunt
