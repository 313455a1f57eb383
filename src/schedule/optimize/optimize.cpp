#include "schedule/optimize/optimize.h"

#include <algorithm>

#include "schedule/optimize/frontier.h"
#include "schedule/optimize/local_search.h"
#include "schedule/optimize/makespan.h"

namespace shunt {

Optimized optimize(const CostProblem& problem, const Assignment& start,
                   const OptimizeLimits& limits) {
  Optimized best;
  best.assignment = start;
  best.seconds = best.start_seconds = makespan(problem, start);
  if (problem.nodes.empty()) return best;

  const CostTables tables(problem);
  const CostBounds bounds(tables);
  const auto take = [&](Assignment found) {
    found.resize(problem.nodes.size());
    const double seconds = makespan(problem, found);
    if (!(seconds < best.seconds)) return;
    best.assignment = std::move(found);
    best.seconds = seconds;
  };

  const std::int64_t frontier_steps = limits.frontier_steps != 0 ? limits.frontier_steps : 64000;
  const std::int64_t width =
      frontier_steps / static_cast<std::int64_t>(tables.nodes() * tables.devices());
  FrontierResult built =
      search_frontier(tables, bounds, best.seconds,
                      static_cast<std::size_t>(std::clamp<std::int64_t>(width, 1, 128)));
  best.steps += built.steps;
  if (!built.assignment.empty()) take(std::move(built.assignment));

  best.proven = built.proven;
  if (built.proven || !(best.seconds < kNever)) return best;
  Assignment with_reads = best.assignment;
  for (const CostRead& read : problem.final_reads) with_reads.push_back(read.device);
  const std::int64_t local_steps = limits.local_steps != 0 ? limits.local_steps : 600000;
  LocalSearchResult improved = search_locally(tables, bounds, with_reads, local_steps,
                                              limits.kicks >= 0 ? limits.kicks : 30);
  best.steps += improved.steps;
  take(std::move(improved.assignment));
  return best;
}

}  // namespace shunt
