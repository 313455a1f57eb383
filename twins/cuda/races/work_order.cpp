#include "cuda/races/work_order.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cuda_twin {

namespace {

constexpr std::size_t kKept = 1 << 14;  // older pieces count as ordered before everything

/// The last piece of work of a lane that is known to be over. A lane is a sequence of pieces of
/// work, each ordered after the one before: a stream, or a path through a graph.
struct LaneClock {
  std::uint64_t lane = 0, position = 0, number = 0;
};
using Clocks = std::vector<LaneClock>;  // sorted by lane

struct Point {
  LaneClock self;
  std::uint64_t horizon = 0;
  std::shared_ptr<const Clocks> others;
  std::string name;
  WorkOrder::Describe describe;
};

/// The later of both for each lane, without those that `horizon` covers.
Clocks merged(const Clocks& a, const Clocks& b, std::uint64_t horizon) {
  Clocks all;
  all.reserve(a.size() + b.size());
  auto right = b.begin();
  const auto keep = [&](const LaneClock& clock) {
    if (clock.number > horizon) all.push_back(clock);
  };
  for (const LaneClock& left : a) {
    for (; right != b.end() && right->lane < left.lane; ++right) keep(*right);
    if (right != b.end() && right->lane == left.lane) {
      keep(right->position > left.position ? *right : left);
      ++right;
    } else {
      keep(left);
    }
  }
  for (; right != b.end(); ++right) keep(*right);
  return all;
}

std::uint64_t position_in(const Clocks& clocks, std::uint64_t lane) {
  const auto at = std::lower_bound(clocks.begin(), clocks.end(), lane,
                                   [](const LaneClock& c, std::uint64_t l) { return c.lane < l; });
  return at != clocks.end() && at->lane == lane ? at->position : 0;
}

/// Pieces of work of a lane that the host has not waited for.
struct OpenLane {
  std::uint64_t last = 0;  ///< position
  std::deque<LaneClock> unknown;
};

}  // namespace

struct WorkOrder::State {
  mutable std::mutex mutex;
  std::deque<Point> points;  ///< the last is that of `last_number`
  std::uint64_t last_number = 0;
  std::uint64_t last_lane = 0;
  std::unordered_map<std::uint64_t, OpenLane> open;
  std::shared_ptr<const Clocks> host = std::make_shared<Clocks>();

  const Point* point(std::uint64_t number) const {
    const std::uint64_t age = last_number - number;
    return number == 0 || number > last_number || age >= points.size()
               ? nullptr
               : &points[points.size() - 1 - age];
  }
  /// All work up to this number is ordered before work that begins after `clocks`, and after all
  /// work up to `known`.
  std::uint64_t horizon_of(const Clocks& clocks, std::uint64_t known) const {
    std::uint64_t horizon = last_number;
    for (const auto& [lane, state] : open) {
      const std::uint64_t position = position_in(clocks, lane);
      const auto first = std::partition_point(
          state.unknown.begin(), state.unknown.end(), [&](const LaneClock& clock) {
            return clock.position <= position || clock.number <= known;
          });
      if (first != state.unknown.end()) horizon = std::min(horizon, first->number - 1);
    }
    return std::max(horizon, known);
  }
  std::uint64_t known() const { return horizon_of({}, 0); }
  /// The predecessor whose lane goes on, or null.
  const Point* continued(std::span<const std::uint64_t> predecessors) const {
    for (const std::uint64_t number : predecessors) {
      const Point* const before = point(number);
      if (before == nullptr) continue;
      const auto lane = open.find(before->self.lane);
      if (lane != open.end() && lane->second.last == before->self.position) return before;
    }
    return nullptr;
  }
  /// What work after `predecessors` and after the host's waits knows.
  void join(std::span<const std::uint64_t> predecessors, Point& now) const {
    Clocks clocks = *host;
    std::uint64_t known_horizon = known();
    for (const std::uint64_t number : predecessors) {
      const Point* const before = point(number);
      if (before == nullptr) continue;
      known_horizon = std::max(known_horizon, before->horizon);
      clocks = merged(clocks, *before->others, known_horizon);
      clocks = merged(clocks, {before->self}, known_horizon);
    }
    now.horizon = horizon_of(clocks, known_horizon);
    now.others = std::make_shared<const Clocks>(merged(clocks, {}, now.horizon));
  }
  /// The host waited for work that knows `clocks`, and all work up to `horizon`.
  void host_knows(const Clocks& clocks, std::uint64_t horizon) {
    for (auto lane = open.begin(); lane != open.end();) {
      auto& unknown = lane->second.unknown;
      const std::uint64_t position = position_in(clocks, lane->first);
      while (!unknown.empty() &&
             (unknown.front().position <= position || unknown.front().number <= horizon)) {
        unknown.pop_front();
      }
      lane = unknown.empty() ? open.erase(lane) : std::next(lane);
    }
  }
};

WorkOrder::WorkOrder() : state_(std::make_unique<State>()) {}
WorkOrder::~WorkOrder() = default;

std::uint64_t WorkOrder::after(std::span<const std::uint64_t> predecessors, std::string name) {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  Point now;
  now.name = std::move(name);
  const Point* const before = state.continued(predecessors);
  now.self.number = state.last_number + 1;
  now.self.lane = before != nullptr ? before->self.lane : ++state.last_lane;
  now.self.position = before != nullptr ? before->self.position + 1 : 1;
  state.join(predecessors, now);
  OpenLane& lane = state.open[now.self.lane];
  lane.last = now.self.position;
  lane.unknown.push_back(now.self);
  ++state.last_number;
  state.points.push_back(std::move(now));
  if (state.points.size() > kKept) state.points.pop_front();
  return state.last_number;
}

void WorkOrder::host_waited(std::uint64_t work) {
  const std::lock_guard lock(state_->mutex);
  const Point* const point = state_->point(work);
  if (point == nullptr) return;
  Clocks clocks = merged(*state_->host, *point->others, 0);
  clocks = merged(clocks, {point->self}, 0);
  state_->host_knows(clocks, point->horizon);
  state_->host = std::make_shared<const Clocks>(merged(clocks, {}, state_->known()));
}

bool WorkOrder::ordered(std::uint64_t before, std::uint64_t later) const {
  const std::lock_guard lock(state_->mutex);
  if (before == later) return true;
  const Point* const a = state_->point(before);
  const Point* const b = state_->point(later);
  if (a == nullptr || b == nullptr || before <= b->horizon) return true;
  if (a->self.lane == b->self.lane) return a->self.position < b->self.position;
  return position_in(*b->others, a->self.lane) >= a->self.position;
}

std::uint64_t WorkOrder::horizon(std::uint64_t work) const {
  const std::lock_guard lock(state_->mutex);
  const Point* const point = state_->point(work);
  // Work without a number of ours: it is taken to be in order.
  return point == nullptr ? (work == 0 ? 0 : work - 1) : point->horizon;
}

void WorkOrder::set_describe(std::uint64_t work, Describe describe) {
  const std::lock_guard lock(state_->mutex);
  if (const Point* const point = state_->point(work)) {
    const_cast<Point*>(point)->describe = std::move(describe);
  }
}

std::string WorkOrder::describe(std::uint64_t work, std::int64_t mark) const {
  const std::lock_guard lock(state_->mutex);
  const Point* const point = state_->point(work);
  if (point == nullptr) return "earlier work";
  return point->describe ? point->name + ", " + point->describe(mark) : point->name;
}

}  // namespace cuda_twin
