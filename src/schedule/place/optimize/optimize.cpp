#include "schedule/place/optimize/optimize.h"

#include <algorithm>

#include "base/to_size.h"
#include "schedule/place/optimize/frontier.h"
#include "schedule/place/optimize/local_search.h"
#include "schedule/place/optimize/makespan.h"

namespace shunt {

namespace {

constexpr int kMostDevices = 64;  ///< bits in Timeline's sets of devices

std::int64_t scale(const CostTables& tables) {
  return 1 + static_cast<std::int64_t>(tables.nodes() / 4096);
}

std::size_t widest_frontier(const CostTables& tables, const OptimizeLimits& limits) {
  const std::size_t work = tables.nodes() * (tables.devices() + frontier_size(tables) / 8);
  const std::int64_t width = scale(tables) * limits.frontier_work / static_cast<std::int64_t>(work);
  return to_size(std::max<std::int64_t>(1, std::min(width, limits.frontier_width)));
}

}  // namespace

Optimized optimize(const CostProblem& problem, const Assignment& start,
                   const OptimizeLimits& limits) {
  Optimized best;
  best.assignment = start;
  best.seconds = best.start_seconds = makespan(problem, start);
  if (problem.nodes.empty() || problem.devices > kMostDevices) return best;

  const CostTables tables(problem);
  const CostBounds bounds(tables);
  const auto take = [&](Assignment found) {
    found.resize(problem.nodes.size());
    const double seconds = makespan(problem, found);
    if (!(seconds < best.seconds)) return;
    best.assignment = std::move(found);
    best.seconds = seconds;
  };

  const std::size_t widest = widest_frontier(tables, limits);
  std::size_t width = std::min<std::size_t>(4, widest);
  while (true) {
    const FrontierResult built = search_frontier(tables, bounds, best.seconds, width);
    best.steps += built.steps;
    best.proven = built.proven;
    if (!built.assignment.empty()) take(built.assignment);
    if (best.proven || width == widest) break;
    width = std::min(8 * width, widest);
  }
  if (best.proven || best.seconds == kNever) return best;

  Assignment all = best.assignment;
  for (const CostRead& read : problem.final_reads) all.push_back(read.device);
  const LocalSearchResult improved =
      search_locally(tables, bounds, all, scale(tables) * limits.local_steps, limits.kicks);
  best.steps += improved.steps;
  take(improved.assignment);
  return best;
}

}  // namespace shunt
