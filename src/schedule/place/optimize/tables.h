// A CostProblem in flat arrays, for loops that run millions of times.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/indexed_vector.h"
#include "schedule/place/optimize/device_table.h"
#include "schedule/place/optimize/problem.h"

namespace shunt {

/// Differences from CostProblem:
///  1. A final read is a node of its own: pinned, 0 seconds, after all others. The device it reads
///     on has nothing else left to do then, so that the makespan stays the same.
///  2. Values have one numbering: results of nodes (by node), then externals.
///  3. Pins and groups are in `seconds`: kNever where any node of the group can't run.
class CostTables {
 public:
  using LinkIndex = int;
  using ClockIndex = int;

  explicit CostTables(const CostProblem& problem);

  std::size_t devices() const { return devices_; }
  DeviceIndices indices() const { return DeviceIndices(devices_); }
  std::size_t nodes() const { return nodes_; }                    ///< with final reads
  std::size_t assigned_nodes() const { return assigned_nodes_; }  ///< without
  std::size_t values() const { return bytes_.size(); }            ///< nodes() + externals
  DeviceIndex external_home(std::size_t value) const { return external_home_[value - nodes_]; }

  double seconds(std::size_t node, DeviceIndex device) const { return seconds_(node, device); }
  bool allowed(std::size_t node, DeviceIndex device) const {
    return seconds(node, device) < kNever;
  }
  /// Devices and links have one numbering as clocks: when each is free. Devices come first.
  std::size_t clocks() const { return devices_ + devices_ * devices_; }
  static ClockIndex clock(DeviceIndex device) { return device; }
  ClockIndex clock(DeviceIndex from, DeviceIndex to) const {
    return indices().size() + link(from, to);
  }
  LinkIndex link(DeviceIndex from, DeviceIndex to) const { return from * indices().size() + to; }
  double transfer_seconds(std::size_t value, LinkIndex link) const {
    return latency_[link] + bytes_[value] * seconds_per_byte_[link];
  }

  /// Values that a node reads, each once.
  std::span<const std::uint32_t> sources(std::size_t node) const {
    return {sources_.data() + first_source_[node], first_source_[node + 1] - first_source_[node]};
  }
  /// Nodes that read a value, in order.
  std::span<const std::uint32_t> users(std::size_t value) const {
    return {users_.data() + first_user_[value], first_user_[value + 1] - first_user_[value]};
  }
  /// Nodes that must be on the device of this one, itself included, in order; empty if it is alone.
  std::span<const std::uint32_t> group(std::size_t node) const {
    return group_of_[node] == kAlone ? std::span<const std::uint32_t>() : groups_[group_of_[node]];
  }
  std::size_t groups() const { return groups_.size(); }
  /// The number of its group; kAlone without one.
  std::size_t group_of(std::size_t node) const { return group_of_[node]; }
  static constexpr std::size_t kAlone = std::numeric_limits<std::size_t>::max();

 private:
  void add_users();
  void add_groups(const CostProblem& problem);

  std::size_t devices_;
  std::size_t nodes_;
  std::size_t assigned_nodes_;
  DeviceTable<double> seconds_;
  std::vector<double> bytes_;
  std::vector<DeviceIndex> external_home_;
  IndexedVector<LinkIndex, double> latency_;
  IndexedVector<LinkIndex, double> seconds_per_byte_;
  std::vector<std::uint32_t> sources_;
  std::vector<std::size_t> first_source_;
  std::vector<std::uint32_t> users_;
  std::vector<std::size_t> first_user_;
  std::vector<std::size_t> group_of_;
  std::vector<std::vector<std::uint32_t>> groups_;
};

}  // namespace shunt
