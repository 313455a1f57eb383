#include "cuda/graphs/graph.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace cuda_twin {
namespace {

/// By the index of the alternative in Work. A launch inside a graph is a child graph.
constexpr CUgraphNodeType kTypes[] = {
    CU_GRAPH_NODE_TYPE_EMPTY,      CU_GRAPH_NODE_TYPE_KERNEL,       CU_GRAPH_NODE_TYPE_MEMCPY,
    CU_GRAPH_NODE_TYPE_MEMSET,     CU_GRAPH_NODE_TYPE_HOST,         CU_GRAPH_NODE_TYPE_EVENT_RECORD,
    CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
    CU_GRAPH_NODE_TYPE_MEM_ALLOC,  CU_GRAPH_NODE_TYPE_MEM_FREE,     CU_GRAPH_NODE_TYPE_GRAPH,
    CU_GRAPH_NODE_TYPE_GRAPH,
};
static_assert(std::size(kTypes) == std::variant_size_v<Work>);

using Positions = std::unordered_map<const Node*, std::size_t>;

Positions positions_in(const Graph& graph) {
  Positions positions;
  positions.reserve(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) positions[graph.nodes[i].get()] = i;
  return positions;
}

}  // namespace

CUgraphNodeType type_of(const Work& work) {
  return kTypes[work.index()];
}

bool is_memory_node(const Node& node) {
  return node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node.type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

Graph* child_of(const Node& node) {
  const auto* const child = std::get_if<ChildGraphWork>(&node.work);
  return child == nullptr ? nullptr : child->graph.get();
}

bool has_memory_nodes(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const std::unique_ptr<Node>& node) {
    const Graph* const child = child_of(*node);
    return is_memory_node(*node) || (child != nullptr && has_memory_nodes(*child));
  });
}

Node& add_node(Graph& graph, Work work, std::shared_ptr<Context> context,
               std::span<const Edge> before) {
  graph.nodes.push_back(std::make_unique<Node>());
  Node& node = *graph.nodes.back();
  node.graph = &graph;
  node.type = type_of(work);
  node.context = std::move(context);
  node.work = std::move(work);
  if (Graph* const child = child_of(node)) child->owner = &node;
  node.before.assign(before.begin(), before.end());
  for (const Edge& edge : before) edge.from->after.push_back(&node);
  return node;
}

void remove_node(Node& node) {
  for (const Edge& edge : node.before) std::erase(edge.from->after, &node);
  for (Node* const later : node.after)
    std::erase_if(later->before, [&](const Edge& edge) { return edge.from == &node; });
  std::erase_if(node.graph->nodes,
                [&](const std::unique_ptr<Node>& each) { return each.get() == &node; });
}

const Edge* edge_between(const Node& from, const Node& to) {
  const auto at = std::ranges::find(to.before, &from, &Edge::from);
  return at == to.before.end() ? nullptr : &*at;
}

void connect(Node& from, Node& to, const CUgraphEdgeData& data) {
  to.before.push_back({&from, data});
  from.after.push_back(&to);
}

void disconnect(Node& from, Node& to) {
  std::erase_if(to.before, [&](const Edge& edge) { return edge.from == &from; });
  std::erase(from.after, &to);
}

std::vector<Node*> in_order(const Graph& graph) {
  const Positions positions = positions_in(graph);
  std::vector<std::size_t> missing(graph.nodes.size());
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    missing[i] = graph.nodes[i]->before.size();
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<Node*> order;
  order.reserve(missing.size());
  while (!ready.empty()) {
    Node* const node = graph.nodes[ready.top()].get();
    ready.pop();
    order.push_back(node);
    for (const Node* const later : node->after) {
      const std::size_t at = positions.at(later);
      if (--missing[at] == 0) ready.push(at);
    }
  }
  return order;
}

Node* cycle_in(const Graph& graph) {
  const std::vector<Node*> order = in_order(graph);
  if (order.size() != graph.nodes.size()) {
    const std::unordered_set<const Node*> placed(order.begin(), order.end());
    for (const auto& node : graph.nodes)
      if (!placed.contains(node.get())) return node.get();
  }
  for (Node* const node : order) {
    const Graph* const child = child_of(*node);
    if (child != nullptr && cycle_in(*child) != nullptr) return node;
  }
  return nullptr;
}

bool all_lead_to(std::span<Node* const> nodes, std::span<Node* const> ends) {
  std::unordered_set<const Node*> seen(ends.begin(), ends.end());
  std::vector<const Node*> open(seen.begin(), seen.end());
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    for (const Edge& edge : node->before)
      if (seen.insert(edge.from).second) open.push_back(edge.from);
  }
  return std::ranges::all_of(nodes, [&](const Node* node) { return seen.contains(node); });
}

std::shared_ptr<Graph> clone(const Graph& graph) {
  auto copy = std::make_shared<Graph>();
  std::unordered_map<const Node*, Node*> copies;
  for (const auto& node : graph.nodes) {
    Work work = node->work;
    if (auto* const child = std::get_if<ChildGraphWork>(&work)) child->graph = clone(*child->graph);
    Node& made = add_node(*copy, std::move(work), node->context, {});
    made.type = node->type;
    made.origin = node->handle;
    copies[node.get()] = &made;
  }
  for (const auto& node : graph.nodes) {
    Node& made = *copies[node.get()];
    for (const Edge& edge : node->before) made.before.push_back({copies[edge.from], edge.data});
    for (const Node* const later : node->after) made.after.push_back(copies[later]);
  }
  return copy;
}

Extents extents_of(const Graph& graph) {
  Extents all = {1, graph.nodes.size()};
  for (const auto& node : graph.nodes) {
    const Graph* const child = child_of(*node);
    if (child == nullptr || all.nodes > kMostNodes) continue;
    const Extents inner = extents_of(*child);
    all.levels = std::max(all.levels, inner.levels + 1);
    all.nodes += inner.nodes;
  }
  return all;
}

unsigned levels_above(const Graph& graph) {
  unsigned levels = 0;
  for (const Node* at = graph.owner; at != nullptr; at = at->graph->owner) ++levels;
  return levels;
}

const Graph& outermost(const Graph& graph) {
  const Graph* at = &graph;
  while (at->owner != nullptr) at = at->owner->graph;
  return *at;
}

}  // namespace cuda_twin
