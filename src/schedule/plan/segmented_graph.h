// A placed graph as segments, and the copies between them.
#pragma once

#include <vector>

#include "graph/gathered.h"
#include "shunt/plan.h"

namespace shunt {

inline constexpr std::size_t kNoBatch = ~std::size_t{0};

/// A copy of a node's bytes in another device's memory.
struct Copy {
  NodeId node = 0;
  int from = 0;
  int to = 0;
  std::size_t segment = 0;  ///< made before this segment starts; segments.size(): after the last
  /// Its memory is its own from the start of this segment on, so that the copy may be made earlier:
  /// the segment before on its device, or `segment`.
  std::size_t earliest = 0;
  std::size_t last_segment = 0;      ///< the last that reads it
  NodeId last_reader = kNoNode;      ///< in that; none: the host reads it
  std::vector<NodeId> readers = {};  ///< all nodes that read it
  Gathered gathered = {};            ///< copied by slices, after the host has read their numbers
  std::uint64_t bytes = 0;           ///< at the dynamic dimensions' maximum
  std::size_t batch = kNoBatch;      ///< index into SegmentedGraph::batches
};

/// Copies of inputs from one memory to one device before one segment. The tensors are side by side,
/// at the same offsets on both sides, so that adjacent ones are transferred at once.
struct CopyBatch {
  std::vector<std::size_t> copies;   ///< which follow each other in SegmentedGraph::copies
  std::vector<std::size_t> offsets;  ///< by copy, in bytes from the first
  std::size_t bytes = 0;             ///< of all, on either side
  bool lays_out = true;  ///< none of its inputs is in an earlier batch that does: the inputs are
                         ///< side by side on the host as well
};

struct SegmentedGraph {
  std::vector<Segment> segments;
  std::vector<std::size_t> segment_of;  ///< by node id; kNoSegment for leaves and views
  std::vector<Copy> copies;             ///< in the order of their segments
  std::vector<CopyBatch> batches;
  /// By segment, by device-local use: which copy stands for a node there.
  struct Use {
    NodeId node = 0;
    std::size_t copy = 0;
  };
  std::vector<std::vector<Use>> uses;
};
inline constexpr std::size_t kNoSegment = ~std::size_t{0};

}  // namespace shunt
