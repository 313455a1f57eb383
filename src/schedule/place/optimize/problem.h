// The second pass of placement as numbers: the nodes, their costs on each device, the values that
// they read, and the cost to move a value. No graph, no device, no names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/to_size.h"
#include "device/device_set.h"

namespace shunt {

inline constexpr double kNever = std::numeric_limits<double>::infinity();
/// Arrival time of a value that does not reach a device.
inline constexpr double kAbsent = -1;

/// A value that a node reads: the result of a node, or one that exists from the start.
struct CostValue {
  bool external = false;
  std::uint32_t index = 0;  ///< into CostProblem::nodes or ::externals
  bool operator==(const CostValue&) const = default;
};

struct CostNode {
  std::vector<double> seconds;     ///< by device; kNever where it can't or mustn't run
  std::vector<CostValue> sources;  ///< nodes among them come earlier; one read twice counts once
  std::size_t bytes = 0;           ///< of its result
  DeviceIndex pinned = kNoDevice;  ///< the only device it may run on, if there is one
  int group = -1;  ///< nodes of one group (any number >= 0) share a device, as those that write
                   ///< into the same memory do
  bool operator==(const CostNode&) const = default;
};

/// A value that is on a device from the start and need not be computed: an input on the host, a
/// weight.
struct CostExternal {
  DeviceIndex device = 0;
  std::size_t bytes = 0;
  bool operator==(const CostExternal&) const = default;
};

/// The link from one device to another, for one transfer at a time. A path through the host is
/// modelled as a slower link.
struct CostLink {
  double latency = 0;           ///< seconds; kNever if there is no link
  double seconds_per_byte = 0;  ///< kNever if there is no way
  bool operator==(const CostLink&) const = default;
};

/// A value that must be on a device when all is done, as outputs must be on the host.
struct CostRead {
  CostValue value;
  DeviceIndex device = 0;
  bool operator==(const CostRead&) const = default;
};

struct CostProblem {
  int devices = 0;
  std::vector<CostNode> nodes;  ///< in the order in which each device computes its own
  std::vector<CostExternal> externals;
  std::vector<CostLink> links;  ///< [from * devices + to]; the diagonal is not used
  std::vector<CostRead> final_reads;
  bool operator==(const CostProblem&) const = default;

  std::size_t device_count() const { return to_size(devices); }
  const CostLink& link(DeviceIndex from, DeviceIndex to) const {
    return links.data()[from * devices + to];
  }
};

/// The device of each node.
using Assignment = std::vector<DeviceIndex>;

}  // namespace shunt
