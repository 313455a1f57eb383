// A complete assignment in time, and the effect of a local change to it without timing all of it
// again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/place/optimize/bounds.h"
#include "schedule/place/optimize/tables.h"

namespace shunt {

/// With the assignment fixed, all times follow from sums and maxima. The makespan is the longest
/// path through nodes and transfers, a linear function in max-plus algebra (Baccelli, Cohen, Olsder
/// and Quadrat, "Synchronization and Linearity", 1992). Cut at node e it is
///   `makespan = max over all that is known by then (a device or link free, a value there) of its
///   time + its tail`,
/// where a tail is the longest path from there to the end. A change may leave everything from e on
/// as it was: same devices, same transfers in the same order. Then the tails stay, and only the
/// nodes up to e are timed again.
///
/// A timeline is walked from the first node to the last. Behind the position times are exact, ahead
/// of it tails are, and changes are tried at it.
class Timeline {
 public:
  Timeline(const CostTables& tables, const CostBounds& bounds);

  /// Times the assignment (with final reads), computes all tails and goes to the first node.
  /// Returns the makespan.
  double load(const Assignment& assignment);
  /// Goes on to the next node.
  void advance();
  std::size_t position() const { return position_; }
  const Assignment& assignment() const { return assignment_; }
  /// The longest path, when the assignment was loaded, that leads through a node, a transfer that
  /// it asks for first or one of its result. Moving nodes through which no longest path leads
  /// hardly ever shortens anything: only where it makes transfers go in another order.
  double longest_through(std::size_t node) const { return through_[node]; }

  /// The makespan with `moved` on `device`. `moved`: nodes from the position on, ascending, none of
  /// which is there. Where that is more, the longest path that no such change has an influence on.
  /// kNever if that is `below` or more.
  double try_move(std::span<const std::uint32_t> moved, DeviceIndex device, double below);
  /// Makes the move that was tried last.
  void accept();

  /// Nodes that were timed or moved so far, and an eighth of the readers that were visited: the
  /// cost of the search.
  std::int64_t steps() const { return steps_; }

 private:
  struct Undo {
    std::size_t value;
    DeviceIndex device;
  };

  double time_node(std::size_t node);
  void compute_tails();
  void start_walk();
  std::size_t end_of_change(std::span<const std::uint32_t> moved, DeviceIndex device);
  std::size_t last_first_use(std::size_t value, std::uint64_t devices);
  double path_through(std::size_t from, std::size_t to);
  double path_through_value(std::size_t value, std::size_t from);
  DeviceIndex device_if_moved(std::size_t node) const {
    return moved_mark_[node] == mark_ ? to_ : assignment_[node];
  }
  DeviceIndex home(std::size_t value) const {
    return value < tables_.nodes() ? assignment_[value] : tables_.external_home(value);
  }

  const CostTables& tables_;
  const CostBounds& bounds_;
  Assignment assignment_;
  std::size_t position_ = 0;
  std::size_t tails_from_ = 0;  ///< tails before this node are out of date
  std::int64_t steps_ = 0;

  // Times at the position.
  IndexedVector<CostTables::ClockIndex, double> free_;
  DeviceTable<double> arrival_;  ///< of values; kAbsent if it isn't there
  bool trying_ = false;
  std::vector<Undo> undo_;  ///< arrivals, of values from before the position, that a trial added

  // Tails, for the assignment as it was loaded.
  std::vector<double> tail_;             ///< [node]: from its start
  DeviceTable<double> transfer_tail_;    ///< of values: from the start of the transfer to it
  std::vector<double> free_tail_;        ///< [node][clock]: from the first of its own that comes
                                         ///< at that node or later
  std::vector<double> start_;            ///< [node]
  std::vector<double> through_;          ///< [node]
  DeviceTable<std::uint32_t> sent_for_;  ///< of values: the node that a transfer was made for

  // The trial.
  std::vector<std::uint32_t> moved_;
  DeviceIndex to_ = 0;
  std::size_t end_ = 0;
  std::uint32_t mark_ = 0;
  std::vector<std::uint32_t> moved_mark_;
  IndexedVector<CostTables::ClockIndex, double> saved_free_;
  std::vector<DeviceIndex> saved_devices_;
};

}  // namespace shunt
