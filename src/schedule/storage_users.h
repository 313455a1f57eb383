// Who computes with which memory: for each node that owns memory, the nodes that read or write it,
// through views or not.
#pragma once

#include <vector>

#include "shunt/graph.h"

namespace shunt {

/// Whether a node computes anything: no leaf, no view.
bool is_computed(const Node& node);

/// What made the value that reading a node reads: views are looked through, to whoever wrote last.
NodeId maker_of(const Graph& graph, NodeId id);

/// By node id of the owner: ids of computed nodes whose sources or result lie in its memory, in
/// order, each once. The node that makes the owner's value itself is not listed.
std::vector<std::vector<NodeId>> storage_users(const Graph& graph);

}  // namespace shunt
