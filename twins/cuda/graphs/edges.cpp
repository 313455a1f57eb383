#include "cuda/graphs/edges.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "cuda/call.h"
#include "cuda/graphs/graphs.h"

namespace cuda_twin {

bool is_same(const CUgraphEdgeData& a, const CUgraphEdgeData& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

bool has_edge_data(std::span<const Edge> edges) {
  return std::ranges::any_of(edges, [](const Edge& edge) { return !is_same(edge.data, {}); });
}

bool is_valid(const CUgraphEdgeData& data, CUgraphNodeType from,
              std::optional<CUgraphNodeType> to) {
  const auto is_kernel = [](CUgraphNodeType type) { return type == CU_GRAPH_NODE_TYPE_KERNEL; };
  const bool no_reserved =
      std::ranges::all_of(data.reserved, [](unsigned char byte) { return byte == 0; });
  if (!no_reserved || data.to_port != 0 ||
      data.from_port > CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER ||
      (data.from_port != CU_GRAPH_KERNEL_NODE_PORT_DEFAULT && !is_kernel(from)))
    return false;
  if (data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)
    return data.from_port != CU_GRAPH_KERNEL_NODE_PORT_DEFAULT && (!to || is_kernel(*to));
  return data.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT &&
         data.from_port != CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
}

CUresult edges_of(const Graph& graph, const CUgraphNode* nodes, const CUgraphEdgeData* data,
                  std::size_t count, std::vector<Edge>& edges, std::optional<CUgraphNodeType> to) {
  if (count == 0) return CUDA_SUCCESS;
  if (nodes == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the dependencies are null");
  // A count that no graph has would read past the caller's array.
  if (count > graph.nodes.size())
    return refuse(CUDA_ERROR_INVALID_VALUE, "more dependencies than the graph has nodes");
  std::vector<Node*> from;
  if (!nodes_of(graph, {nodes, count}, from))
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "a dependency is no node of this graph, or is there twice");
  for (std::size_t i = 0; i < count; ++i) {
    const CUgraphEdgeData each = data == nullptr ? CUgraphEdgeData{} : data[i];
    if (!is_valid(each, from[i]->type, to))
      return refuse(CUDA_ERROR_INVALID_VALUE, "no edge between these nodes has such data");
    edges.push_back({from[i], each});
  }
  return CUDA_SUCCESS;
}

namespace {

struct Pairs {
  const CUgraphNode* from;
  const CUgraphNode* to;
  const CUgraphEdgeData* data;
  std::size_t count;
};
struct Pair {
  Node* from;
  Node* to;
  CUgraphEdgeData data;
};

CUresult pairs_of(const Graph& graph, const Pairs& given, std::vector<Pair>& pairs) {
  if (given.count == 0) return CUDA_SUCCESS;
  if (given.from == nullptr || given.to == nullptr)
    return refuse(CUDA_ERROR_INVALID_VALUE, "a list of nodes is null");
  std::set<std::pair<const Node*, const Node*>> seen;
  for (std::size_t i = 0; i < given.count; ++i) {
    Node* const from = node_of(given.from[i]);
    Node* const to = node_of(given.to[i]);
    if (from == nullptr || to == nullptr || from->graph != &graph || to->graph != &graph)
      return refuse(CUDA_ERROR_INVALID_VALUE, "a node is not of this graph");
    if (from == to || !seen.emplace(from, to).second)
      return refuse(CUDA_ERROR_INVALID_VALUE, "an edge leads to its own node, or is there twice");
    pairs.push_back({from, to, given.data == nullptr ? CUgraphEdgeData{} : given.data[i]});
  }
  return CUDA_SUCCESS;
}

CUresult add_dependencies(CUgraph handle, const Pairs& given) {
  const GraphsLock lock = lock_graphs();
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no graph");
  std::vector<Pair> pairs;
  if (const CUresult code = pairs_of(*graph, given, pairs); code != CUDA_SUCCESS) return code;
  for (const Pair& pair : pairs) {
    if (edge_between(*pair.from, *pair.to) != nullptr)
      return refuse(CUDA_ERROR_INVALID_VALUE, "the graph has this edge");
    if (!is_valid(pair.data, pair.from->type, pair.to->type))
      return refuse(CUDA_ERROR_INVALID_VALUE, "no edge between these nodes has such data");
  }
  for (const Pair& pair : pairs) connect(*pair.from, *pair.to, pair.data);
  return CUDA_SUCCESS;
}

CUresult remove_dependencies(CUgraph handle, const Pairs& given) {
  const GraphsLock lock = lock_graphs();
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no graph");
  std::vector<Pair> pairs;
  if (const CUresult code = pairs_of(*graph, given, pairs); code != CUDA_SUCCESS) return code;
  if (!pairs.empty() && has_memory_nodes(*graph))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the graph allocates or frees memory: its edges stay");
  for (const Pair& pair : pairs) {
    const Edge* const edge = edge_between(*pair.from, *pair.to);
    if (edge == nullptr || !is_same(edge->data, pair.data))
      return refuse(CUDA_ERROR_INVALID_VALUE, "the graph has no such edge");
  }
  for (const Pair& pair : pairs) disconnect(*pair.from, *pair.to);
  return CUDA_SUCCESS;
}

/// Nodes of a graph, chosen by `wanted`.
template <class Wanted>
CUresult list_nodes(CUgraph handle, CUgraphNode* to, size_t* count, const Wanted& wanted) {
  if (count == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the count is null");
  const GraphsLock lock = lock_graphs();
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no graph");
  std::vector<CUgraphNode> nodes;
  for (const auto& node : graph->nodes)
    if (wanted(*node)) nodes.push_back(node->handle);
  fill_list(nodes, to, count);
  return CUDA_SUCCESS;
}

struct EdgeLists {
  std::vector<CUgraphNode> from, to;
  std::vector<CUgraphEdgeData> data;
  void add(const Node& first, const Node& second, const CUgraphEdgeData& edge) {
    from.push_back(first.handle);
    to.push_back(second.handle);
    data.push_back(edge);
  }
  bool is_lossy(bool wants_nodes, const CUgraphEdgeData* place) const {
    return wants_nodes && place == nullptr &&
           std::ranges::any_of(data, [](const auto& each) { return !is_same(each, {}); });
  }
};

CUresult lossy() {
  return refuse(CUDA_ERROR_LOSSY_QUERY, "an edge has data, and the place for it is null");
}

CUresult list_edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                    size_t* count) {
  if (count == nullptr || (from == nullptr) != (to == nullptr) ||
      (data != nullptr && from == nullptr))
    return refuse(CUDA_ERROR_INVALID_VALUE, "some of the places for edges are null");
  const GraphsLock lock = lock_graphs();
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no graph");
  EdgeLists lists;
  for (const auto& node : graph->nodes)
    for (const Edge& edge : node->before) lists.add(*edge.from, *node, edge.data);
  if (lists.is_lossy(from != nullptr, data)) return lossy();
  const size_t most = *count;
  fill_list(lists.from, from, count);
  if (from == nullptr) return CUDA_SUCCESS;
  size_t same = most;
  fill_list(lists.to, to, &same);
  same = most;
  if (data != nullptr) fill_list(lists.data, data, &same);
  return CUDA_SUCCESS;
}

/// The neighbours of a node on one side.
template <class Collect>
CUresult list_neighbours(CUgraphNode handle, CUgraphNode* to, CUgraphEdgeData* data, size_t* count,
                         const Collect& collect) {
  if (count == nullptr || (data != nullptr && to == nullptr))
    return refuse(CUDA_ERROR_INVALID_VALUE, "some of the places for nodes are null");
  const GraphsLock lock = lock_graphs();
  const Node* const node = node_of(handle);
  if (node == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no node");
  EdgeLists lists;
  collect(*node, lists);
  if (lists.is_lossy(to != nullptr, data)) return lossy();
  size_t same = *count;
  if (data != nullptr) fill_list(lists.data, data, &same);
  fill_list(lists.from, to, count);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                const CUgraphEdgeData* edges, size_t count) {
  return call(__func__, [&] { return add_dependencies(graph, {from, to, edges, count}); });
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edges, size_t count) {
  return call(__func__, [&] { return remove_dependencies(graph, {from, to, edges, count}); });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return call(__func__,
              [&] { return list_nodes(graph, nodes, count, [](const Node&) { return true; }); });
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return call(__func__, [&] {
    return list_nodes(graph, nodes, count, [](const Node& node) { return node.before.empty(); });
  });
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edges,
                         size_t* count) {
  return call(__func__, [&] { return list_edges(graph, from, to, edges, count); });
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* dependencies,
                                    CUgraphEdgeData* edges, size_t* count) {
  return call(__func__, [&] {
    return list_neighbours(node, dependencies, edges, count, [](const Node& of, EdgeLists& lists) {
      for (const Edge& edge : of.before) lists.add(*edge.from, of, edge.data);
    });
  });
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* dependents,
                                      CUgraphEdgeData* edges, size_t* count) {
  return call(__func__, [&] {
    return list_neighbours(node, dependents, edges, count, [](const Node& of, EdgeLists& lists) {
      for (const Node* const later : of.after)
        lists.add(*later, of, edge_between(of, *later)->data);
    });
  });
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return call(__func__, [&] {
    if (type == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the type is null");
    const GraphsLock lock = lock_graphs();
    const Node* const node = node_of(handle);
    if (node == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no node");
    *type = node->type;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace cuda_twin
