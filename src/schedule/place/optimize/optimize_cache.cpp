#include "schedule/place/optimize/optimize_cache.h"

#include <algorithm>

namespace shunt {

const Optimized* OptimizeCache::find(const CostProblem& problem, const Assignment& start) {
  const auto found = std::ranges::find_if(
      known_, [&](const Known& known) { return known.start == start && known.problem == problem; });
  if (found == known_.end()) return nullptr;
  known_.splice(known_.begin(), known_, found);
  return &found->found;
}

Optimized OptimizeCache::optimize(const CostProblem& problem, const Assignment& start) {
  {
    const std::lock_guard lock(mutex_);
    if (const Optimized* known = find(problem, start)) return *known;
  }
  Optimized found = search_(problem, start);
  const std::lock_guard lock(mutex_);
  if (find(problem, start) == nullptr) {
    known_.push_front({problem, start, found});
    if (known_.size() > capacity_) known_.pop_back();
  }
  return found;
}

}  // namespace shunt
