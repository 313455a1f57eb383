#include "schedule/place/optimize/local_search.h"

#include <algorithm>

#include "schedule/place/optimize/timeline.h"

namespace shunt {

namespace {

/// Largest number of nodes that move together.
constexpr std::size_t kMostTogether = 256;

/// Improvements below this share of the makespan are rounding.
constexpr double kRounding = 1e-12;

/// Nodes are worth moving if a path through them is longer than the makespan less this share of it.
constexpr double kSlack = 1e-9;

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers on every machine.
class Random {
 public:
  std::size_t below(std::size_t n) {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % n;
  }

 private:
  std::uint64_t state_ = 0;
};

class LocalSearch {
 public:
  LocalSearch(const CostTables& tables, const CostBounds& bounds, std::int64_t steps)
      : tables_(tables),
        timeline_(tables, bounds),
        most_steps_(steps),
        mark_of_(tables.nodes(), 0) {}

  LocalSearchResult run(const Assignment& start, int kicks) {
    LocalSearchResult best{start, timeline_.load(start), 0};
    descend(best.seconds);
    take_if_better(best);
    for (int failed = 0; failed < kicks && left();) {
      Assignment thrown = best.assignment;
      if (!kick(thrown)) break;
      descend(timeline_.load(thrown));
      failed = take_if_better(best) ? 0 : failed + 1;
    }
    best.steps = timeline_.steps();
    return best;
  }

 private:
  bool left() const { return timeline_.steps() < most_steps_; }

  bool take_if_better(LocalSearchResult& best) {
    const Assignment found = timeline_.assignment();
    const double seconds = timeline_.load(found);
    if (!(seconds < best.seconds * (1 - kRounding))) return false;
    best.assignment = found;
    best.seconds = seconds;
    return true;
  }

  /// Walks until a walk changes nothing, from a timeline that was just loaded.
  void descend(double makespan) {
    while (true) {
      makespan_ = makespan;
      changed_ = false;
      offset_ = random_.below(kMostTogether);
      while (timeline_.position() < tables_.assigned_nodes() && left()) {
        try_moves_at(static_cast<std::uint32_t>(timeline_.position()));
        timeline_.advance();
      }
      if (!changed_ || !left()) return;
      makespan = timeline_.load(Assignment(timeline_.assignment()));
    }
  }

  /// Sets of n nodes are tried at every n/2-th node only, so that a walk does the same work for
  /// every n.
  void try_moves_at(std::uint32_t node) {
    for (const DeviceIndex d : tables_.indices()) {
      if (!can_move(node, d) || try_together(node, d, 1, &LocalSearch::gather_following)) continue;
      for (std::size_t n = 2; n <= kMostTogether && n < 2 * tables_.assigned_nodes() && left();
           n *= 2) {
        if ((node + offset_) % (n / 2) != 0) break;
        if (!can_move(node, d) || try_together(node, d, n, &LocalSearch::gather_dependent)) break;
        if (try_together(node, d, n, &LocalSearch::gather_following)) break;
      }
    }
  }

  bool can_move(std::uint32_t node, DeviceIndex device) const {
    return timeline_.assignment()[node] != device && tables_.allowed(node, device);
  }

  using Gather = void (LocalSearch::*)(std::uint32_t node, DeviceIndex device, std::size_t n);

  bool try_together(std::uint32_t node, DeviceIndex device, std::size_t n, Gather gather) {
    moved_.clear();
    ++mark_;
    add(node, device);
    (this->*gather)(node, device, n);
    std::sort(moved_.begin(), moved_.end());
    if (moved_.front() < node) return false;  // of a group that began earlier, and was tried there
    if (std::none_of(moved_.begin(), moved_.end(), [&](std::uint32_t each) {
          return timeline_.longest_through(each) >= makespan_ * (1 - kSlack);
        })) {
      return false;
    }
    const double below = makespan_ * (1 - kRounding);
    const double makespan = timeline_.try_move(moved_, device, below);
    if (!(makespan < below)) return false;
    timeline_.accept();
    makespan_ = makespan;
    changed_ = true;
    return true;
  }

  void add(std::uint32_t node, DeviceIndex device) {
    if (mark_of_[node] == mark_ || !can_move(node, device)) return;
    mark_of_[node] = mark_;
    moved_.push_back(node);
    for (std::uint32_t other : tables_.group(node)) {
      if (other != node) add(other, device);
    }
  }

  void gather_following(std::uint32_t node, DeviceIndex device, std::size_t n) {
    const auto end = std::min<std::size_t>(node + n, tables_.assigned_nodes());
    for (std::uint32_t next = node + 1; next < end; ++next) add(next, device);
  }

  void gather_dependent(std::uint32_t node, DeviceIndex device, std::size_t n) {
    const DeviceIndex from = timeline_.assignment()[node];
    for (std::size_t next = 0; next < moved_.size() && moved_.size() < n; ++next) {
      const std::uint32_t producer = moved_[next];
      const auto neighbour = [&](std::uint32_t other) {
        if (other > node && other < tables_.assigned_nodes() && moved_.size() < n &&
            timeline_.assignment()[other] == from) {
          add(other, device);
        }
      };
      for (std::uint32_t user : tables_.users(producer)) neighbour(user);
      for (std::uint32_t source : tables_.sources(producer)) {
        if (source < tables_.nodes()) neighbour(source);
      }
    }
  }

  /// Moves a node and some nodes around it to random other devices. False if no node can move.
  bool kick(Assignment& assignment) {
    const std::size_t n = tables_.assigned_nodes();
    const std::size_t throws = 1 + random_.below(3);
    bool any = false;
    std::size_t node = random_.below(n);
    for (std::size_t attempt = 0, done = 0; attempt < 4 * n && done < throws; ++attempt) {
      const auto device = static_cast<DeviceIndex>(random_.below(tables_.devices()));
      if (assignment[node] != device && tables_.allowed(node, device)) {
        assignment[node] = device;
        for (std::uint32_t other : tables_.group(node)) assignment[other] = device;
        any = true;
        ++done;
      }
      node = (node + 1 + random_.below(3)) % n;
    }
    return any;
  }

  const CostTables& tables_;
  Timeline timeline_;
  std::int64_t most_steps_;
  Random random_;
  double makespan_ = 0;
  bool changed_ = false;
  std::size_t offset_ = 0;
  std::vector<std::uint32_t> moved_;
  std::uint32_t mark_ = 0;
  std::vector<std::uint32_t> mark_of_;
};

}  // namespace

LocalSearchResult search_locally(const CostTables& tables, const CostBounds& bounds,
                                 const Assignment& start, std::int64_t steps, int kicks) {
  return LocalSearch(tables, bounds, steps).run(start, kicks);
}

}  // namespace shunt
