// Finding nodes that one kernel computes at once. The time for that grows with the nodes of a
// segment, not with those of its graph.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/storage_users.h"
#include "shunt/device.h"

namespace shunt {

/// Nodes that one call computes, in the place of the last of them. Results are bit-equal to those
/// of the nodes one by one, unless an operator of a vendor's library rounds fewer times.
struct FusedGroup {
  NodeId asked = kNoNode;            ///< the node that the kernel supports, with its parameters
  NodeId last = kNoNode;             ///< the node whose result the call has
  std::vector<NodeId> inside = {};   ///< the nodes before the last one
  std::vector<NodeId> sources = {};  ///< of the call
  /// A node inside whose result is written to memory, too: the call has it after its sources. The
  /// results of the others are not in memory.
  NodeId written = kNoNode;
  int in_place = -1;  ///< the source of `written` whose memory it may take
};

/// The same with a backend's kernel.
template <class K>
struct Fused : FusedGroup {
  const K* kernel = nullptr;
};

/// A group with a kernel of a backend, if `reads` is true of all of its sources.
template <class K, class Reads>
std::optional<Fused<K>> with_kernel(std::optional<FusedGroup> group, const K& kernel,
                                    const Reads& reads) {
  if (!group || !std::ranges::all_of(group->sources, reads)) return {};
  return Fused<K>{std::move(*group), &kernel};
}

/// Queries of a fusion pattern about the segment in which it is matched.
class Surroundings {
 public:
  explicit Surroundings(const SegmentView& segment)
      : segment_(segment), users_(segment.graph, segment.nodes) {}
  const SegmentView& segment() const { return segment_; }
  const Graph& graph() const { return segment_.graph; }
  const Node& node(NodeId id) const { return segment_.graph.node(id); }
  /// The nodes of the segment that read a node's memory, directly or through views. Nodes of other
  /// segments read it only if it is kept.
  std::span<const NodeId> readers(NodeId id) const { return users_.of(id); }
  /// The only one in the whole graph, if it is of that op; else kNoNode.
  NodeId only_reader(NodeId id, const Op& op) const;
  /// Whether a group may be computed with its last node. All nodes are in the segment, and none of
  /// their sources changes before. No other node reads a result that is not in memory or not
  /// computed yet.
  bool may_fuse(const FusedGroup& group) const;

 private:
  SegmentView segment_;
  SegmentUsers users_;
};

/// A node and an op of its result with a row that all its rows share, if that is its only reader: a
/// product with a bias, a norm with a scale. The row is the last source of the group.
std::optional<FusedGroup> with_row(const Surroundings& around, NodeId id, const Op& op);

/// rms_norm(x) times a row: sources are x and the row.
std::optional<FusedGroup> norm_and_scale(const Surroundings& around, NodeId norm);
/// rms_norm(a + b) times a row, a and b of equal shapes: sources are a, b and the row. The sum is
/// written, and may take the memory of a.
std::optional<FusedGroup> sum_norm_and_scale(const Surroundings& around, NodeId sum);

/// Adds the needs of a group to those of its program: the nodes inside, and the memory that the
/// written one may take.
void add_fused(const Graph& graph, const FusedGroup& group, Needs& needs);

/// The fused groups of a segment.
template <class K>
class Fusions {
 public:
  /// `patterns`: functions (const Surroundings& around, NodeId first). Each returns the group that
  /// starts at a node, if its pattern matches there. They are tried in order, each on all nodes. A
  /// node belongs to one group at most. `reads(group)`: whether the group's kernel can read its
  /// sources.
  template <class Patterns, class Reads>
  Fusions(const SegmentView& segment, const Patterns& patterns, Reads reads) {
    const Surroundings around(segment);
    for (const auto& pattern : patterns) {
      for (const NodeId first : segment.nodes) {
        std::optional<Fused<K>> group = pattern(around, first);
        if (!group || !around.may_fuse(*group) || !reads(*group)) continue;
        const auto taken = [&](NodeId id) { return is_inside(id) || ending_at(id) != nullptr; };
        if (taken(group->last) || std::ranges::any_of(group->inside, taken)) continue;
        inside_.insert(group->inside.begin(), group->inside.end());
        ending_at_.emplace(group->last, groups_.size());
        groups_.push_back(std::move(*group));
      }
    }
  }

  /// The group whose last node this is; null: it is computed alone, or inside another group.
  const Fused<K>* ending_at(NodeId id) const {
    const auto found = ending_at_.find(id);
    return found == ending_at_.end() ? nullptr : &groups_[found->second];
  }
  bool is_inside(NodeId id) const { return inside_.contains(id); }
  std::span<const Fused<K>> all() const { return groups_; }

 private:
  std::vector<Fused<K>> groups_;
  std::unordered_map<NodeId, std::size_t> ending_at_;
  std::unordered_set<NodeId> inside_;
};

}  // namespace shunt
