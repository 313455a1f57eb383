// Cutting a placed graph into segments, and finding what must be copied between devices.
#pragma once

#include <vector>

#include "schedule/picked.h"
#include "shunt/plan.h"

namespace shunt {

/// A copy of a node's bytes in another device's memory.
struct Copy {
  NodeId node = 0;
  int from = 0;
  int to = 0;
  std::size_t segment = 0;  ///< made before this segment starts; segments.size(): after the last
  std::size_t last_segment = 0;  ///< the last that reads it
  NodeId last_reader = kNoNode;  ///< in that; none: the host reads it
  Picked picked = {};            ///< copied by slices, after the host has read their numbers
  std::uint64_t bytes = 0;       ///< at the extents' maximum
};

struct Cut {
  std::vector<Segment> segments;
  std::vector<std::size_t> segment_of;  ///< by node id; kNoSegment for leaves and views
  std::vector<Copy> copies;             ///< in the order of their segments
  /// By segment, by device-local use: which copy stands for a node there.
  struct Use {
    NodeId node = 0;
    std::size_t copy = 0;
  };
  std::vector<std::vector<Use>> uses;
};
inline constexpr std::size_t kNoSegment = static_cast<std::size_t>(-1);

/// `kept`: outputs and observed nodes, which must be readable by the host at the end. `watched`, by
/// node id: those after which a segment ends, with a copy for the host if it can't read them where
/// they lie; none if empty. `leaf_types`: by node id, the memory type of leaves.
Cut cut_segments(const Graph& graph, const Placement& placement, std::span<const NodeId> kept,
                 std::span<const BufferType* const> leaf_types,
                 const std::vector<bool>& watched = {});

/// Where inputs start, and what goes from device to device by way of the host: the memory of the
/// CPU, which is the last device.
BufferType& input_memory(std::span<Device* const> devices);

/// The memory types of leaves that lie where the placement says, before they have memory.
std::vector<const BufferType*> planned_leaf_types(const Graph& graph, const Placement& placement);

}  // namespace shunt
