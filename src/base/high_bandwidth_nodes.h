// NUMA nodes with high-bandwidth memory.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/machine_description.h"

namespace shunt {

/// Reads the machine and allocates there. May be used from many threads.
class HighBandwidthNodes {
 public:
  /// Null if the machine has none, or if it can't be read. A node counts if its subtype is HBM or
  /// MCDRAM. If no node is named HBM, MCDRAM or DRAM, the nodes without a subtype whose bandwidth
  /// is known are compared. At least two are needed, and a node counts whose bandwidth is at least
  /// twice that of the slowest one.
  static std::shared_ptr<const HighBandwidthNodes> find(const MachineDescription& machine = {});

  /// As the system numbers them, ascending.
  virtual std::vector<int> numbers() const = 0;
  /// Null if there is none. The system takes it from other nodes
  /// where these are full. It is freed with the last copy, for which this object must live.
  virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) const = 0;

 protected:
  virtual ~HighBandwidthNodes() = default;
};

}  // namespace shunt
