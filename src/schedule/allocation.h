// Which memory a plan needs and from when to when: one request for each computed tensor, copy and
// scratch.
#pragma once

#include <memory>
#include <vector>

#include "schedule/memory_planner.h"
#include "schedule/segments.h"
#include "shunt/plan.h"

namespace shunt {

/// What a plan asks of one device's memory, and where each thing went.
struct DeviceRequests {
  std::vector<MemoryRequest> requests;
  MemoryLayout layout;
};

inline constexpr std::size_t kNoRequest = static_cast<std::size_t>(-1);

/// Requests by device, and which of them belongs to whom (an index into its device's requests).
struct Allocation {
  std::vector<DeviceRequests> devices;
  std::vector<std::size_t>
      of_node;  ///< by node id, for owners of memory; kNoRequest if it needs none
  std::vector<std::size_t> of_copy;     ///< by copy
  std::vector<std::size_t> of_scratch;  ///< by segment
};

/// Finds lifetimes and lays everything out. `kept` live to the end of a run. OutOfMemory names the
/// device.
Result<Allocation> allocate_plan(const Graph& graph, const Placement& placement, const Cut& cut,
                                 std::span<const std::unique_ptr<Program>> programs,
                                 std::span<const NodeId> kept);

}  // namespace shunt
