// Two nodes that one kernel does at once.
#pragma once

#include <optional>

#include "backends/cpu/kernel.h"

namespace shunt::cpu {

/// The second node reads what the first one computes, which nobody else wants: it is never in
/// memory. The kernel is asked about the first node, and gets its parameters; its sources are those
/// of the first node, and then those of the second but that one; its result is the second's, bit by
/// bit what the two would give.
struct Fusion {
  const Op* first;
  const Op* second;
  std::size_t source;  ///< of the second: the first one's result
  bool (*fits)(const NodeView& first, const NodeView& second);
  const CpuKernel* kernel;
};

/// Which nodes of a segment are fused.
class Fusions {
 public:
  explicit Fusions(const SegmentView& segment);
  struct Match {
    NodeId first = kNoNode;
    const Fusion* fusion = nullptr;
  };
  /// What a node is the second of, if anything.
  std::optional<Match> ending_at(NodeId second) const;
  bool is_first(NodeId node) const { return first_of_[node]; }

 private:
  bool may_fuse(NodeId first, NodeId second) const;

  const SegmentView& segment_;
  std::vector<Match> by_second_;
  std::vector<bool> first_of_;
};

}  // namespace shunt::cpu
