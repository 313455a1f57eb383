// Addresses as a device sees them: memory that it can't read is replaced by the copies made for it.
#pragma once

#include <algorithm>
#include <ranges>
#include <span>
#include <vector>

#include "schedule/plan/segments.h"

namespace shunt {

/// T is an address. A lookup takes time proportional to the number of copies that this segment and
/// the previous one use, not to the number of nodes.
template <class T>
class LocalAddresses {
 public:
  /// `of_node` by node id, `of_copy` by copy. The cut must outlive it.
  LocalAddresses(const SegmentedGraph& cut, std::vector<T> of_node, std::vector<T> of_copy)
      : cut_(cut), seen_(std::move(of_node)), of_copy_(std::move(of_copy)) {}

  /// By node id, until the next call. `segment` may be the one after the last.
  std::span<const T> of(std::size_t segment, int device) {
    for (const Replaced& replaced : std::views::reverse(replaced_)) {
      seen_[replaced.node] = replaced.was;
    }
    replaced_.clear();
    for (const SegmentedGraph::Use& use : cut_.uses[segment]) {
      if (cut_.copies[use.copy].to != device) continue;
      replaced_.push_back({use.node, seen_[use.node]});
      seen_[use.node] = of_copy_[use.copy];
    }
    return seen_;
  }

 private:
  struct Replaced {
    NodeId node = 0;
    T was = {};
  };
  const SegmentedGraph& cut_;
  std::vector<T> seen_;
  std::vector<T> of_copy_;
  std::vector<Replaced> replaced_;
};

}  // namespace shunt
