// Which memory a plan needs and from when to when: one request for each computed tensor, copy and
// scratch.
#pragma once

#include <memory>
#include <vector>

#include "schedule/memory_planner.h"
#include "schedule/segments.h"
#include "shunt/plan.h"

namespace shunt {

/// Requests of one kind on one device, and where each went.
struct RequestGroup {
  std::vector<MemoryRequest> requests;
  MemoryLayout layout;

  /// Whether there are requests, but none that needs memory.
  bool only_empty() const { return !requests.empty() && layout.block_bytes.empty(); }
};

/// What a plan asks of one device's memory: shared by all steps, and what each step in flight has
/// for itself, which is laid out once and allocated for each.
struct DeviceRequests {
  RequestGroup shared;
  RequestGroup own;
};

inline constexpr std::size_t kNoRequest = static_cast<std::size_t>(-1);

/// One request: which of a device's groups, and which in it.
struct Slot {
  bool own = false;
  std::size_t index = kNoRequest;
  explicit operator bool() const { return index != kNoRequest; }
};

/// Requests by device, and which of them belongs to whom.
struct Allocation {
  std::vector<DeviceRequests> devices;
  std::vector<Slot> of_node;     ///< by node id, for owners of memory; none if it needs none
  std::vector<Slot> of_copy;     ///< by copy
  std::vector<Slot> of_scratch;  ///< by segment
};

/// Finds lifetimes and lays everything out. `kept` live to the end of a run. Where steps overlap,
/// copies of what is computed or given, and what is kept, are each step's own. OutOfMemory names
/// the device.
Result<Allocation> allocate_plan(const Graph& graph, const Placement& placement, const Cut& cut,
                                 std::span<const std::unique_ptr<Program>> programs,
                                 std::span<const NodeId> kept, bool overlapping);

}  // namespace shunt
