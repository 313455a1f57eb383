// Several nodes that one kernel computes at once.
#pragma once

#include <optional>

#include "backends/cpu/kernel.h"

namespace shunt::cpu {

/// Nodes that are computed when the last of them is due, bit by bit as one after the other.
struct Fused {
  const CpuKernel* kernel = nullptr;
  NodeId asked = kNoNode;  ///< the node that the kernel is asked about, whose parameters it gets
  NodeId last = kNoNode;   ///< whose result the call has
  std::vector<NodeId> inside = {};   ///< the nodes before the last one
  std::vector<NodeId> sources = {};  ///< of the call
  /// One of those inside whose result is in memory, too: the call has it behind its sources. The
  /// others' are nowhere.
  NodeId written = kNoNode;
  int in_place = -1;  ///< the source of `written` whose memory it may take
};

/// What a pattern can ask about the segment that it is looked for in.
class Surroundings {
 public:
  explicit Surroundings(const SegmentView& segment);
  const Graph& graph() const { return segment_.graph; }
  const Node& node(NodeId id) const { return segment_.graph.node(id); }
  NodeView view(NodeId id) const { return {segment_.graph, id, segment_.memory}; }
  /// The nodes that are computed from what is in a node's memory, through views or not.
  std::span<const NodeId> readers(NodeId id) const { return readers_[id]; }
  /// The only one, if it is of that op; else kNoNode.
  NodeId only_reader(NodeId id, const Op& op) const;

 private:
  friend class Fusions;
  bool may_fuse(const Fused& fused) const;

  const SegmentView& segment_;
  std::vector<std::vector<NodeId>> readers_;  // by node
  std::vector<bool> here_;                    // by node: computed in this segment
};

/// What is computed at once with a node, if that is where the pattern starts.
using Pattern = std::optional<Fused> (*)(const Surroundings& around, NodeId first);

/// What is fused in a segment.
class Fusions {
 public:
  Fusions(const SegmentView& segment, std::span<const Pattern> patterns);
  /// What a node is the last of; null: it is computed alone, or inside of another.
  const Fused* ending_at(NodeId id) const;
  bool is_inside(NodeId id) const { return inside_[id]; }
  std::span<const Fused> all() const { return fused_; }

 private:
  std::vector<Fused> fused_;
  std::vector<bool> inside_;  // by node
};

}  // namespace shunt::cpu
