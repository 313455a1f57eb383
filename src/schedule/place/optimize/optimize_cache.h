// Assignments found before. Loading a model places the same few graphs several times.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <mutex>

#include "schedule/place/optimize/optimize.h"

namespace shunt {

/// Returns the result of optimize(), and keeps the results that were used last. For many threads.
class OptimizeCache {
 public:
  using Search = std::function<Optimized(const CostProblem&, const Assignment& start)>;

  /// `search`: optimize(), or another one for tests. `capacity`: most results that are kept.
  explicit OptimizeCache(Search search = search_anew, std::size_t capacity = 16)
      : search_(std::move(search)), capacity_(capacity) {}

  Optimized optimize(const CostProblem& problem, const Assignment& start);
  /// Results that are kept.
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return known_.size();
  }

 private:
  struct Known {
    CostProblem problem;
    Assignment start;
    Optimized found;
  };

  static Optimized search_anew(const CostProblem& problem, const Assignment& start) {
    return shunt::optimize(problem, start);
  }
  const Optimized* find(const CostProblem& problem, const Assignment& start);

  Search search_;
  std::size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Known> known_;  ///< the one used last comes first
};

}  // namespace shunt
