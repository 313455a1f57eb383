// Graphs, nodes and executable graphs by their handles. Callers hold Driver::graphs_mutex.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cuda/driver/state.h"
#include "cuda/graphs/graph.h"

namespace cuda_twin {

using GraphsLock = std::unique_lock<std::mutex>;
inline GraphsLock lock_graphs() {
  return GraphsLock(driver().graphs_mutex);
}

/// Handles for a graph of the caller, or one that a capture fills, and for all in it.
CUgraph publish(const std::shared_ptr<Graph>& graph);
/// Handles for a new node, and for the child graph in it.
CUgraphNode publish(Node& node);

/// A graph of the caller or a child graph; null for any other handle.
Graph* graph_of(CUgraph handle);
Node* node_of(CUgraphNode handle);
/// The nodes of these handles, if all are of `graph` and none is there twice.
bool nodes_of(const Graph& graph, std::span<const CUgraphNode> handles, std::vector<Node*>& out);

/// The handles of a graph's nodes and child graphs end.
void withdraw_nodes(const Graph& graph);
void withdraw(const Graph& graph);
/// A node's handle ends, and it leaves its graph.
void withdraw(Node& node);

/// All graphs and captures end, for cuda_twin_reset().
void drop_graphs();

}  // namespace cuda_twin
