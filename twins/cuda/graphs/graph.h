// A graph: pieces of work and the edges between them. Its functions take no lock: callers hold
// Graphs::lock (graphs.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "cuda/driver/work.h"

namespace cuda_twin {

struct Node;

struct Edge {
  Node* from = nullptr;
  CUgraphEdgeData data{};
};

struct Node {
  CUgraphNode handle = nullptr;
  Graph* graph = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::shared_ptr<Context> context;
  Work work;
  std::vector<Edge> before;  ///< in the order in which they were added
  std::vector<Node*> after;
  CUgraphNode origin = nullptr;   ///< of a clone: the node that it is a copy of
  std::vector<void*> parameters;  ///< into KernelWork::parameters, for cuGraphKernelNodeGetParams
};

struct Graph {
  CUgraph handle = nullptr;
  std::vector<std::unique_ptr<Node>> nodes;  ///< in the order in which they were added
  bool capturing = false;                    ///< belongs to a capture that has not ended
  Node* owner = nullptr;                     ///< of a child graph: its node
  std::weak_ptr<GraphExec> instance;         ///< the only one, if it has memory nodes
};

CUgraphNodeType type_of(const Work& work);
bool is_memory_node(const Node& node);
/// Whether it or a child graph allocates or frees memory.
bool has_memory_nodes(const Graph& graph);

/// A new last node. Edges must be of nodes of this graph, each once.
Node& add_node(Graph& graph, Work work, std::shared_ptr<Context> context,
               std::span<const Edge> before);
void remove_node(Node& node);
const Edge* edge_between(const Node& from, const Node& to);
void connect(Node& from, Node& to, const CUgraphEdgeData& data);
void disconnect(Node& from, Node& to);

/// All nodes so that each stands after those that it depends on, in the order of addition where
/// edges leave a choice. Fewer than all if there is a cycle.
std::vector<Node*> in_order(const Graph& graph);
/// A node on a cycle, also of a child graph, or null.
Node* cycle_in(const Graph& graph);
/// Whether each of `nodes` is one of `ends`, or a path leads from it to one of them.
bool all_lead_to(std::span<Node* const> nodes, std::span<Node* const> ends);

/// A copy with child graphs. The new nodes know their origins; they have no handles yet.
std::shared_ptr<Graph> clone(const Graph& graph);

/// Bounds that keep child graphs of child graphs cheap.
inline constexpr unsigned kDeepest = 32;
inline constexpr std::size_t kMostNodes = std::size_t{1} << 18;
/// Levels of child graphs, at least 1, and nodes in all; both stop at their bounds.
struct Extents {
  unsigned levels = 0;
  std::size_t nodes = 0;
};
Extents extents_of(const Graph& graph);
/// The levels above this graph, 0 for one that is no child.
unsigned levels_above(const Graph& graph);
const Graph& outermost(const Graph& graph);
Graph* child_of(const Node& node);

}  // namespace cuda_twin
