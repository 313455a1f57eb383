// Roles of nodes, and the users of memory: for each node that owns memory, the nodes that read or
// write it, through views or not.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "shunt/graph.h"

namespace shunt {

/// Whether a node computes anything: no leaf, no view.
bool is_computed(const Node& node);

/// Whether a leaf of that role is a weight.
bool is_weight(Role role);

/// The node that made a node's value. For a view, this is the last node that wrote the memory.
NodeId maker_of(const Graph& graph, NodeId id);

/// For each node that owns memory: the computed nodes whose sources or result are in it, in order,
/// each once. The node that makes the owner's value itself is not listed.
class StorageUsers {
 public:
  StorageUsers() = default;  ///< of a graph without nodes
  explicit StorageUsers(const Graph& graph);

  std::span<const NodeId> operator[](NodeId owner) const {
    return std::span(users_).subspan(begins_[owner], begins_[owner + 1] - begins_[owner]);
  }

 private:
  std::vector<std::size_t> begins_;  // in users_, by owner, and the end
  std::vector<NodeId> users_;        // by owner, then in order
};

/// The same for the nodes of a segment only. The time and memory for it grow with their number, not
/// with that of the graph.
class SegmentUsers {
 public:
  /// `nodes`: computed ones, in order.
  SegmentUsers(const Graph& graph, std::span<const NodeId> nodes);

  bool contains(NodeId id) const;
  /// Nodes of the segment whose sources are in the memory of `owner`, in order, each once.
  std::span<const NodeId> of(NodeId owner) const;
  /// Whether one of the nodes from `first` to `last`, both included, writes into the memory of
  /// another node, `owner`.
  bool writes(NodeId owner, NodeId first, NodeId last) const;

 private:
  struct Use {
    NodeId owner = 0;
    NodeId user = 0;
    auto operator<=>(const Use&) const = default;
  };
  std::vector<NodeId> nodes_;   // in order
  std::vector<NodeId> owners_;  // of users_, in order
  std::vector<NodeId> users_;   // by owner, then in order
  std::vector<Use> writers_;    // in order
};

}  // namespace shunt
