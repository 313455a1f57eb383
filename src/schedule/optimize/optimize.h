// Costs override rules: the assignment of nodes to devices with the shortest makespan that a
// bounded search finds.
#pragma once

#include <cstdint>

#include "schedule/optimize/problem.h"

namespace shunt {

/// How much to search; 0 stands for what the size of the problem asks for.
struct OptimizeLimits {
  std::int64_t frontier_steps = 0;  ///< partial assignments in the search over the frontier
  std::int64_t local_steps = 0;     ///< nodes timed in the local search
  int kicks = -1;  ///< fruitless restarts of the local search; -1: as the size asks for
};

struct Optimized {
  Assignment assignment;
  double seconds = kNever;  ///< its makespan
  double start_seconds = kNever;
  bool proven = false;     ///< no assignment has a shorter one
  std::int64_t steps = 0;  ///< partial assignments and nodes timed: the cost of the search
};

/// An assignment whose makespan() is at most that of `start`, and that keeps pins and groups if any
/// does. One algorithm for all sizes:
///  1. search_frontier() builds one from nothing, with the makespan of `start` as the bound to stay
///  below;
///  2. search_locally() improves the better one of both.
/// No clock, no chance: the same arguments give the same result.
Optimized optimize(const CostProblem& problem, const Assignment& start,
                   const OptimizeLimits& limits = {});

}  // namespace shunt
