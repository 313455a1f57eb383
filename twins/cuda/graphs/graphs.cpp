#include "cuda/graphs/graphs.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace cuda_twin {
namespace {

template <class Handle>
Handle handle_of(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number);  // NOLINT(performance-no-int-to-ptr): opaque
}

template <class Map, class Handle>
typename Map::mapped_type found(const Map& map, Handle handle) {
  const auto at = map.find(handle);
  return at == map.end() ? typename Map::mapped_type{} : at->second;
}

}  // namespace

CUgraph Graphs::add(std::shared_ptr<Graph> graph) {
  graph->handle = handle_of<CUgraph>(next());
  for (const auto& node : graph->nodes) add(*node);
  return graphs_.emplace(graph->handle, std::move(graph)).first->first;
}

void Graphs::add(Node& node) {
  node.handle = handle_of<CUgraphNode>(next());
  nodes_[node.handle] = &node;
  Graph* const child = child_of(node);
  if (child == nullptr) return;
  child->handle = handle_of<CUgraph>(next());
  children_[child->handle] = child;
  for (const auto& inner : child->nodes) add(*inner);
}

CUgraphExec Graphs::add(std::shared_ptr<GraphExec> exec) {
  return execs_.emplace(handle_of<CUgraphExec>(next()), std::move(exec)).first->first;
}

std::shared_ptr<Graph> Graphs::graph(CUgraph handle) const {
  return found(graphs_, handle);
}

Graph* Graphs::any_graph(CUgraph handle) const {
  Graph* const child = found(children_, handle);
  return child != nullptr ? child : found(graphs_, handle).get();
}

Node* Graphs::node(CUgraphNode handle) const {
  return found(nodes_, handle);
}

std::shared_ptr<GraphExec> Graphs::exec(CUgraphExec handle) const {
  return found(execs_, handle);
}

bool Graphs::nodes(const Graph& graph, std::span<const CUgraphNode> handles,
                   std::vector<Node*>& out) const {
  std::unordered_set<const Node*> seen;
  for (const CUgraphNode handle : handles) {
    Node* const each = node(handle);
    if (each == nullptr || each->graph != &graph || !seen.insert(each).second) return false;
    out.push_back(each);
  }
  return true;
}

void Graphs::forget_nodes(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    nodes_.erase(node->handle);
    const Graph* const child = child_of(*node);
    if (child == nullptr) continue;
    children_.erase(child->handle);
    forget_nodes(*child);
  }
}

void Graphs::remove(const Graph& graph) {
  forget_nodes(graph);
  const CUgraph handle = graph.handle;
  graphs_.erase(handle);
}

void Graphs::remove(Node& node) {
  nodes_.erase(node.handle);
  if (const Graph* const child = child_of(node)) {
    children_.erase(child->handle);
    forget_nodes(*child);
  }
  remove_node(node);
}

void Graphs::remove(CUgraphExec handle) {
  execs_.erase(handle);
}

std::size_t Graphs::count_graphs() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(graphs_, [](const auto& each) { return !each.second->capturing; }));
}

void Graphs::clear() {
  nodes_.clear();
  children_.clear();
  graphs_.clear();
  execs_.clear();
}

}  // namespace cuda_twin
