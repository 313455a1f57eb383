#include "schedule/place/optimize/frontier.h"

#include <algorithm>

namespace shunt {

namespace {

constexpr std::uint32_t kNoSlot = static_cast<std::uint32_t>(-1);

/// Which slot of a state holds a value while it is live, from the node that makes it (or first
/// reads it, if it is external) to the last that reads it. A group of nodes has a slot from its
/// first to its last, for its device.
struct Slots {
  std::vector<std::uint32_t> of_value;
  std::vector<std::uint32_t> of_group;
  std::size_t count = 0;

  explicit Slots(const CostTables& tables)
      : of_value(tables.values(), kNoSlot), of_group(tables.groups(), kNoSlot) {
    std::vector<std::uint32_t> free;
    const auto take = [&] {
      if (free.empty()) free.push_back(static_cast<std::uint32_t>(count++));
      const std::uint32_t slot = free.back();
      free.pop_back();
      return slot;
    };
    for (std::size_t i = 0; i < tables.nodes(); ++i) {
      for (std::uint32_t value : tables.sources(i)) {
        if (of_value[value] == kNoSlot) of_value[value] = take();
      }
      if (!tables.users(i).empty()) of_value[i] = take();
      const auto group = tables.group(i);
      if (!group.empty() && group.front() == i) {
        of_group[tables.group_of(i)] = take();
      }
      for (std::uint32_t value : tables.sources(i)) {
        if (tables.users(value).back() == i) free.push_back(of_value[value]);
      }
      if (!group.empty() && group.back() == i) {
        free.push_back(of_group[tables.group_of(i)]);
      }
    }
  }
};

/// Partial assignments of the same nodes, side by side.
struct States {
  std::size_t times_each;
  std::size_t slots_each;
  std::vector<double> times;        ///< devices, links, then each slot on each device
  std::vector<std::uint8_t> homes;  ///< by slot: where it was made
  std::vector<double> bound;        ///< lower bound of the makespan
  std::vector<double> sum;  ///< of the bounds of all nodes so far: lateness beyond the worst one
  std::vector<std::uint64_t> hash;  ///< of the homes of live slots

  States(std::size_t width, std::size_t times_of_one, std::size_t slots_of_one)
      : times_each(times_of_one),
        slots_each(slots_of_one),
        times(width * times_each),
        homes(width * slots_each),
        bound(width),
        sum(width),
        hash(width) {}
  double* times_of(std::size_t state) { return times.data() + state * times_each; }
  std::uint8_t* homes_of(std::size_t state) { return homes.data() + state * slots_each; }
};

/// A state and the device that its next node might go to.
struct Candidate {
  double bound;
  double sum;
  std::uint32_t parent;
  DeviceIndex device;

  bool operator<(const Candidate& other) const {
    if (bound != other.bound) return bound < other.bound;
    if (sum != other.sum) return sum < other.sum;
    return parent != other.parent ? parent < other.parent : device < other.device;
  }
};

class Search {
 public:
  Search(const CostTables& tables, const CostBounds& bounds, double below, std::size_t width)
      : tables_(tables),
        bounds_(bounds),
        below_(below),
        width_(width),
        devices_(tables.devices()),
        slots_(tables),
        first_slot_time_(tables.clocks()),
        now_(width, first_slot_time_ + slots_.count * devices_, slots_.count),
        next_(now_),
        links_(devices_) {}

  FrontierResult run() {
    FrontierResult result;
    std::fill_n(now_.times_of(0), now_.times_each, 0.0);
    states_ = 1;
    std::vector<Candidate> chosen;  // by node: those that went on
    std::vector<std::size_t> first_chosen(1, 0);
    for (std::size_t node = 0; node < tables_.nodes(); ++node) {
      open_externals(node);
      find_candidates(node);
      result.steps += static_cast<std::int64_t>(candidates_.size());
      update_live(node);
      select(node, chosen);
      states_ = chosen.size() - first_chosen.back();
      if (states_ == 0) {
        result.proven = least_dropped_ == kNever;
        return result;
      }
      first_chosen.push_back(chosen.size());
      std::swap(now_, next_);
    }
    result.seconds = now_.bound[0];
    result.proven = result.seconds <= least_dropped_;
    result.assignment.resize(tables_.nodes());
    std::size_t state = 0;
    for (std::size_t node = tables_.nodes(); node-- > 0;) {
      const Candidate& choice = chosen[first_chosen[node] + state];
      result.assignment[node] = choice.device;
      state = choice.parent;
    }
    return result;
  }

 private:
  double* slot_times(double* times, std::uint32_t slot) const {
    return times + first_slot_time_ + slot * devices_;
  }

  void open_externals(std::size_t node) {
    for (std::uint32_t value : tables_.sources(node)) {
      if (value < tables_.nodes() || tables_.users(value).front() != node) continue;
      const std::uint32_t slot = slots_.of_value[value];
      const DeviceIndex home = tables_.external_home(value);
      live_.push_back(slot);
      for (std::size_t s = 0; s < states_; ++s) {
        double* times = slot_times(now_.times_of(s), slot);
        std::fill_n(times, devices_, kAbsent);
        times[home] = 0;
        now_.homes_of(s)[slot] = static_cast<std::uint8_t>(home);
      }
    }
  }

  /// When the node would end. `link_free`: of the links into `device`, by where they come from.
  /// `place`: called with the arrival time of each value that is sent.
  template <class Place>
  double finish(const double* times, const std::uint8_t* homes, std::size_t node,
                DeviceIndex device, double* link_free, Place place) const {
    double ready = times[device];
    for (std::uint32_t value : tables_.sources(node)) {
      const std::uint32_t slot = slots_.of_value[value];
      const double* there = times + first_slot_time_ + slot * devices_;
      double arrival = there[device];
      if (arrival == kAbsent) {
        const DeviceIndex home = homes[slot];
        arrival = std::max(there[home], link_free[home]) +
                  tables_.transfer_seconds(value, tables_.link(home, device));
        link_free[home] = arrival;
        place(slot, home, arrival);
      }
      ready = std::max(ready, arrival);
    }
    return ready + tables_.seconds(node, device);
  }

  void find_candidates(std::size_t node) {
    candidates_.clear();
    const auto group = tables_.group(node);
    const bool decided = !group.empty() && group.front() != node;
    for (std::size_t s = 0; s < states_; ++s) {
      const double* times = now_.times_of(s);
      const std::uint8_t* homes = now_.homes_of(s);
      double busy = bounds_.work_from(node + 1);
      for (const DeviceIndex d : tables_.indices()) busy += times[d];
      for (const DeviceIndex d : tables_.indices()) {
        if (!tables_.allowed(node, d)) continue;
        if (decided && homes[slots_.of_group[tables_.group_of(node)]] != d) continue;
        for (const DeviceIndex from : tables_.indices()) {
          links_[from] = times[tables_.clock(from, d)];
        }
        const double end =
            finish(times, homes, node, d, links_.data(), [](std::uint32_t, DeviceIndex, double) {});
        const double path = end + bounds_.after(node, d);
        const double share = (busy - times[d] + end) / static_cast<double>(devices_);
        const double bound = std::max({now_.bound[s], path, share});
        if (!(bound < below_)) continue;
        candidates_.push_back({bound, now_.sum[s] + path, static_cast<std::uint32_t>(s), d});
      }
    }
    std::sort(candidates_.begin(), candidates_.end());
  }

  /// Slots that the nodes after this one look at.
  void update_live(std::size_t node) {
    const auto close = [&](std::uint32_t slot) {
      live_.erase(std::find(live_.begin(), live_.end(), slot));
    };
    for (std::uint32_t value : tables_.sources(node)) {
      if (tables_.users(value).back() == node) close(slots_.of_value[value]);
    }
    if (!tables_.users(node).empty()) live_.push_back(slots_.of_value[node]);
    const auto group = tables_.group(node);
    if (group.empty()) return;
    const std::uint32_t slot = slots_.of_group[tables_.group_of(node)];
    if (group.front() == node) live_.push_back(slot);
    if (group.back() == node) close(slot);
  }

  void select(std::size_t node, std::vector<Candidate>& chosen) {
    std::size_t kept = 0;
    for (const Candidate& candidate : candidates_) {
      if (kept == width_) {
        least_dropped_ = std::min(least_dropped_, candidate.bound);
        break;
      }
      make(node, candidate, kept);
      bool superfluous = false;
      for (std::size_t s = 0; s < kept && !superfluous; ++s) superfluous = dominates(s, kept);
      if (superfluous) continue;
      chosen.push_back(candidate);
      ++kept;
    }
  }

  void make(std::size_t node, const Candidate& candidate, std::size_t state) {
    const DeviceIndex device = candidate.device;
    double* times = next_.times_of(state);
    std::uint8_t* homes = next_.homes_of(state);
    std::copy_n(now_.times_of(candidate.parent), now_.times_each, times);
    std::copy_n(now_.homes_of(candidate.parent), now_.slots_each, homes);
    for (const DeviceIndex from : tables_.indices()) {
      links_[from] = times[tables_.clock(from, device)];
    }
    const double end = finish(times, homes, node, device, links_.data(),
                              [&](std::uint32_t slot, DeviceIndex home, double arrival) {
                                slot_times(times, slot)[device] = arrival;
                                times[tables_.clock(home, device)] = arrival;
                              });
    times[device] = end;
    if (!tables_.users(node).empty()) {
      const std::uint32_t slot = slots_.of_value[node];
      std::fill_n(slot_times(times, slot), devices_, kAbsent);
      slot_times(times, slot)[device] = end;
      homes[slot] = static_cast<std::uint8_t>(device);
    }
    const auto group = tables_.group(node);
    if (!group.empty() && group.front() == node) {
      const std::uint32_t slot = slots_.of_group[tables_.group_of(node)];
      std::fill_n(slot_times(times, slot), devices_, 0.0);
      homes[slot] = static_cast<std::uint8_t>(device);
    }
    next_.bound[state] = candidate.bound;
    next_.sum[state] = candidate.sum;
    next_.hash[state] = hash(homes);
  }

  /// FNV-1a.
  std::uint64_t hash(const std::uint8_t* homes) const {
    std::uint64_t result = 0xcbf29ce484222325;
    for (std::uint32_t slot : live_) result = (result ^ homes[slot]) * 0x100000001b3;
    return result;
  }

  /// Whether state `a` of those kept is nowhere later than `b`. A value that is there in `a` and
  /// absent in `b` is no later either: it can't arrive in `b` before its link, which is not ahead
  /// of that of `a`.
  bool dominates(std::size_t a, std::size_t b) {
    if (next_.hash[a] != next_.hash[b] || next_.bound[a] > next_.bound[b]) return false;
    const double* ta = next_.times_of(a);
    const double* tb = next_.times_of(b);
    for (std::size_t i = 0; i < first_slot_time_; ++i) {
      if (ta[i] > tb[i]) return false;
    }
    for (std::uint32_t slot : live_) {
      if (next_.homes_of(a)[slot] != next_.homes_of(b)[slot]) return false;
      const double* sa = slot_times(next_.times_of(a), slot);
      const double* sb = slot_times(next_.times_of(b), slot);
      for (const DeviceIndex d : tables_.indices()) {
        if (sb[d] != kAbsent && (sa[d] == kAbsent || sa[d] > sb[d])) return false;
      }
    }
    return true;
  }

  const CostTables& tables_;
  const CostBounds& bounds_;
  double below_;
  std::size_t width_;
  std::size_t devices_;
  Slots slots_;
  std::size_t first_slot_time_;
  States now_;
  States next_;
  std::size_t states_ = 0;
  double least_dropped_ = kNever;
  std::vector<std::uint32_t> live_;
  std::vector<Candidate> candidates_;
  PerDevice<double> links_;
};

}  // namespace

FrontierResult search_frontier(const CostTables& tables, const CostBounds& bounds, double below,
                               std::size_t width) {
  return Search(tables, bounds, below, width).run();
}

std::size_t frontier_size(const CostTables& tables) {
  return tables.clocks() + Slots(tables).count * tables.devices();
}

}  // namespace shunt
