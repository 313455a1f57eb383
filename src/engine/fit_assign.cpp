#include "engine/fit_assign.h"

#include <algorithm>

namespace shunt {

namespace {

std::size_t at(int device) {
  return static_cast<std::size_t>(device);
}

class Assigner {
 public:
  Assigner(std::span<const FitLeaf> leaves, std::span<const FitUnit> units, const FitBounds& bounds)
      : leaves_(leaves),
        units_(units),
        room_(bounds.room),
        cpu_(static_cast<int>(bounds.room.size()) - 1),
        open_(bounds.used) {
    result_.homes.assign(leaves.size(), cpu_);
    result_.taken.assign(bounds.room.size(), 0);
  }

  Assignment run() && {
    for (const FitUnit* unit : in_order()) {
      std::vector<std::uint64_t> more = put(*unit);
      while (close_where_full(more)) more = put(*unit);
      for (std::size_t d = 0; d < more.size(); ++d) result_.taken[d] += more[d];
    }
    return std::move(result_);
  }

 private:
  /// First what is there already, as nobody else could have its room.
  std::vector<const FitUnit*> in_order() const {
    std::vector<const FitUnit*> order;
    for (const bool first : {true, false}) {
      for (const FitUnit& unit : units_) {
        const bool there = std::any_of(unit.leaves.begin(), unit.leaves.end(),
                                       [&](std::size_t leaf) { return leaves_[leaf].there >= 0; });
        if (there == first) order.push_back(&unit);
      }
    }
    return order;
  }

  /// Homes for a unit among devices that are open: the bytes that each would get.
  std::vector<std::uint64_t> put(const FitUnit& unit) {
    std::vector<std::uint64_t> more(room_.size(), 0);
    std::vector<bool> has_weights(room_.size(), false);
    // Weights first, as caches follow them.
    for (const bool cache : {false, true}) {
      for (std::size_t i : unit.leaves) {
        const FitLeaf& leaf = leaves_[i];
        if (leaf.is_cache() != cache) continue;
        const int home = home_of(leaf, has_weights);
        result_.homes[i] = home;
        has_weights[at(home)] = has_weights[at(home)] || !cache;
        more[at(home)] += leaf.on(home).bytes;
      }
    }
    return more;
  }

  /// `has_weights`: the devices that weights of the same unit lie on.
  int home_of(const FitLeaf& leaf, const std::vector<bool>& has_weights) const {
    if (leaf.fixed) return leaf.wanted;
    const auto is_open = [&](int d) { return d == cpu_ || open_[at(d)]; };
    if (leaf.there >= 0) return is_open(leaf.there) ? leaf.there : cpu_;
    const auto suits = [&](int d, bool alone) {
      return d == cpu_ || (is_open(d) && leaf.on(d).can && !leaf.on(d).too_large &&
                           (!leaf.is_cache() || alone || has_weights[at(d)]));
    };
    if (suits(leaf.wanted, leaf.for_speed)) return leaf.wanted;
    for (int d = 0; d < cpu_; ++d) {
      if (suits(d, false)) return d;
    }
    return cpu_;
  }

  bool close_where_full(std::span<const std::uint64_t> more) {
    bool closed = false;
    for (std::size_t d = 0; d < at(cpu_); ++d) {
      if (!open_[d] || more[d] == 0) continue;
      if (more[d] <= room_[d] - std::min(room_[d], result_.taken[d])) continue;
      open_[d] = false;
      closed = result_.short_of_room = true;
    }
    return closed;
  }

  std::span<const FitLeaf> leaves_;
  std::span<const FitUnit> units_;
  std::span<const std::uint64_t> room_;
  int cpu_;
  std::vector<bool> open_;
  Assignment result_;
};

}  // namespace

Assignment assign_homes(std::span<const FitLeaf> leaves, std::span<const FitUnit> units,
                        const FitBounds& bounds) {
  return Assigner(leaves, units, bounds).run();
}

}  // namespace shunt
