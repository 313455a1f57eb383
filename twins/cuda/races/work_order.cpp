#include "cuda/races/work_order.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cuda_twin {

namespace {

constexpr std::size_t kKept = 1 << 16;  // older pieces count as ordered before everything

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
  std::uint64_t known() const {
    std::uint64_t known = last_number;
    for (const auto& [lane, state] : open) {
      known = std::min(known, state.unknown.front().number - 1);
    }
    return known;
  }
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
  std::shared_ptr<const Clocks> joined(std::span<const std::uint64_t> predecessors,
                                       std::uint64_t horizon) const {
    Clocks clocks = merged(*host, {}, horizon);
    for (const std::uint64_t number : predecessors) {
      const Point* const before = point(number);
      if (before == nullptr || number <= horizon) continue;
      clocks = merged(clocks, *before->others, horizon);
      clocks = merged(clocks, {before->self}, horizon);
    }
    return std::make_shared<const Clocks>(std::move(clocks));
  }
  void host_knows(const LaneClock& clock) {
    const auto lane = open.find(clock.lane);
    if (lane == open.end()) return;
    auto& unknown = lane->second.unknown;
    while (!unknown.empty() && unknown.front().position <= clock.position) unknown.pop_front();
    if (unknown.empty()) open.erase(lane);
  }
};

WorkOrder::WorkOrder() : state_(std::make_unique<State>()) {}
WorkOrder::~WorkOrder() = default;

std::uint64_t WorkOrder::after(std::span<const std::uint64_t> predecessors, std::string name) {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  Point now;
  now.name = std::move(name);
  now.horizon = state.known();
  const Point* const before = state.continued(predecessors);
  now.self.number = state.last_number + 1;
  now.self.lane = before != nullptr ? before->self.lane : ++state.last_lane;
  now.self.position = before != nullptr ? before->self.position + 1 : 1;
  now.others = state.joined(predecessors, now.horizon);
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
  for (const LaneClock& clock : clocks) state_->host_knows(clock);
  state_->host = std::make_shared<const Clocks>(merged(clocks, {}, state_->known()));
}

void WorkOrder::host_waited_for_all() {
  const std::lock_guard lock(state_->mutex);
  state_->open.clear();
  state_->host = std::make_shared<Clocks>();
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
  return point == nullptr ? 0 : point->horizon;
}

std::string WorkOrder::name(std::uint64_t work) const {
  const std::lock_guard lock(state_->mutex);
  const Point* const point = state_->point(work);
  return point == nullptr ? "earlier work" : point->name;
}

}  // namespace cuda_twin
