#include "engine/load/fit_assign.h"

#include <algorithm>

namespace shunt {

namespace {

class Assigner {
 public:
  Assigner(std::span<const FitLeaf> leaves, std::span<const FitUnit> units, const FitBounds& bounds)
      : leaves_(leaves),
        units_(units),
        room_(bounds.room),
        cpu_(bounds.room.cpu()),
        open_(bounds.used) {
    result_.homes.assign(leaves.size(), cpu_);
    result_.taken.assign(bounds.room.size(), 0);
  }

  HomeAssignment run() && {
    for (const FitUnit* unit : in_order()) {
      PerDevice<std::uint64_t> more = put(*unit);
      while (close_where_full(more)) more = put(*unit);
      for (const DeviceIndex d : more.indices()) result_.taken[d] += more[d];
    }
    return std::move(result_);
  }

 private:
  /// First the loaded leaves, as no other leaf could have their room.
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
  PerDevice<std::uint64_t> put(const FitUnit& unit) {
    PerDevice<std::uint64_t> more(room_.size(), 0);
    PerDevice<bool> has_weights(room_.size(), false);
    // Weights first, as caches follow them.
    for (const bool cache : {false, true}) {
      for (std::size_t i : unit.leaves) {
        const FitLeaf& leaf = leaves_[i];
        if (leaf.is_cache() != cache) continue;
        const DeviceIndex home = home_of(leaf, has_weights);
        result_.homes[i] = home;
        has_weights[home] = has_weights[home] || !cache;
        more[home] += leaf.on(home).bytes;
      }
    }
    return more;
  }

  /// `has_weights`: the devices that have weights of the same unit.
  DeviceIndex home_of(const FitLeaf& leaf, const PerDevice<bool>& has_weights) const {
    if (leaf.fixed) return leaf.wanted;
    const auto is_open = [&](DeviceIndex d) { return d == cpu_ || open_[d]; };
    if (leaf.there >= 0) return is_open(leaf.there) ? leaf.there : cpu_;
    const auto suits = [&](DeviceIndex d, bool alone) {
      return d == cpu_ || (is_open(d) && leaf.on(d).can && !leaf.on(d).too_large &&
                           (!leaf.is_cache() || alone || has_weights[d]));
    };
    if (suits(leaf.wanted, leaf.for_speed)) return leaf.wanted;
    for (const DeviceIndex d : room_.accelerators()) {
      if (suits(d, false)) return d;
    }
    return cpu_;
  }

  bool close_where_full(const PerDevice<std::uint64_t>& more) {
    bool closed = false;
    for (const DeviceIndex d : room_.accelerators()) {
      if (!open_[d] || more[d] == 0) continue;
      if (more[d] <= room_[d] - std::min(room_[d], result_.taken[d])) continue;
      open_[d] = false;
      closed = result_.short_of_room = true;
    }
    return closed;
  }

  std::span<const FitLeaf> leaves_;
  std::span<const FitUnit> units_;
  const PerDevice<std::uint64_t>& room_;
  DeviceIndex cpu_;
  PerDevice<bool> open_;
  HomeAssignment result_;
};

}  // namespace

HomeAssignment assign_homes(std::span<const FitLeaf> leaves, std::span<const FitUnit> units,
                            const FitBounds& bounds) {
  return Assigner(leaves, units, bounds).run();
}

}  // namespace shunt
