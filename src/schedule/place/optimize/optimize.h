// Costs override rules: the assignment of nodes to devices with the shortest makespan that a
// bounded search finds.
#pragma once

#include <cstdint>

#include "schedule/place/optimize/problem.h"

namespace shunt {

/// How much to search, for each 4,096 nodes begun. A search over the frontier costs about width *
/// nodes * (devices + times in a state / 8). The width is as large as `frontier_work` allows, at
/// least 1. The defaults make that about 10 ms; bench/schedule_optimize.cpp shows it.
struct OptimizeLimits {
  std::int64_t frontier_work = 150'000;
  std::int64_t frontier_width = 128;   ///< at most
  std::int64_t local_steps = 250'000;  ///< nodes timed in the local search, about
  int kicks = 100;  ///< restarts of the local search that lead to nothing better, one after another
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
/// Uses no clock and no random device: the same arguments give the same result.
Optimized optimize(const CostProblem& problem, const Assignment& start,
                   const OptimizeLimits& limits = {});

}  // namespace shunt
