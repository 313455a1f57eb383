// Which memory a plan needs and from when to when: one request for each computed tensor, copy and
// scratch.
#pragma once

#include <memory>
#include <vector>

#include "memory/planner.h"
#include "schedule/plan/segments.h"
#include "shunt/plan.h"

namespace shunt {

/// Requests of one kind on one device, and where each went.
struct RequestGroup {
  std::vector<MemoryRequest> requests;
  MemoryLayout layout;

  /// Whether there are requests, but none that needs memory.
  bool only_empty() const { return !requests.empty() && layout.block_bytes.empty(); }
};

/// A plan's requests of one type of memory: those shared by all steps, and those that each step in
/// flight has for itself. The latter are laid out once and allocated for each step.
struct PlanPool {
  BufferType* type = nullptr;
  int device = 0;        ///< whose ledger counts it
  bool staging = false;  ///< staging memory of that device
  RequestGroup shared = {};
  RequestGroup own = {};
};

inline constexpr std::size_t kNoRequest = ~std::size_t{0};

/// Memory of a request: its pool, its group of that pool, its index in the group, and its offset.
struct Slot {
  std::size_t pool = 0;
  bool own = false;
  std::size_t index = kNoRequest;
  std::size_t offset = 0;  ///< of a tensor of a batch
  explicit operator bool() const { return index != kNoRequest; }
};

/// Requests by pool, and their index by tensor, copy and segment.
struct Allocation {
  std::vector<PlanPool> pools;   ///< the devices' own memories first, by device
  std::vector<Slot> of_node;     ///< by node id, for owners of memory; none if it needs none
  std::vector<Slot> of_copy;     ///< by copy
  std::vector<Slot> of_scratch;  ///< by segment
};

/// Finds lifetimes and lays everything out. A batch of copies is one request. A copy lives from the
/// start of the segment Copy::earliest. Results of the CPU that another device reads, and copies
/// that the host reads, are in the memory that find_homes() and host_end() name. `kept` live to the
/// end of a run. Where steps overlap, each step has its own copies of inputs and
/// results, and its own kept results. OutOfMemory names the device.
Result<Allocation> allocate_plan(const Graph& graph, const Placement& placement,
                                 const SegmentedGraph& cut,
                                 std::span<const std::unique_ptr<Program>> programs,
                                 std::span<const NodeId> live_out, bool overlapping);

}  // namespace shunt
