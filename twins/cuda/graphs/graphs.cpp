#include "cuda/graphs/graphs.h"

#include <unordered_set>
#include <utility>

#include "cuda/graphs/capture.h"

namespace cuda_twin {
namespace {

/// For a table that does not own its objects.
template <class T>
std::shared_ptr<T> unowned(T& object) {
  return {std::shared_ptr<void>(), &object};
}

void publish_child(Graph& graph) {
  graph.handle = as_handle<CUgraph>(driver().child_graphs.add(unowned(graph)));
  for (const auto& node : graph.nodes) publish(*node);
}

void withdraw_child(const Node& node) {
  const Graph* const child = child_of(node);
  if (child == nullptr) return;
  driver().child_graphs.take(child->handle);
  withdraw_nodes(*child);
}

}  // namespace

CUgraph publish(const std::shared_ptr<Graph>& graph) {
  for (const auto& node : graph->nodes) publish(*node);
  const CUgraph handle = as_handle<CUgraph>(driver().graphs.add(graph));
  graph->handle = handle;
  return handle;
}

CUgraphNode publish(Node& node) {
  node.handle = as_handle<CUgraphNode>(driver().graph_nodes.add(unowned(node)));
  if (Graph* const child = child_of(node)) publish_child(*child);
  return node.handle;
}

Graph* graph_of(CUgraph handle) {
  if (Graph* const child = driver().child_graphs.find(handle).get()) return child;
  return driver().graphs.find(handle).get();
}

Node* node_of(CUgraphNode handle) {
  return driver().graph_nodes.find(handle).get();
}

bool nodes_of(const Graph& graph, std::span<const CUgraphNode> handles, std::vector<Node*>& out) {
  std::unordered_set<const Node*> seen;
  for (const CUgraphNode handle : handles) {
    Node* const node = node_of(handle);
    if (node == nullptr || node->graph != &graph || !seen.insert(node).second) return false;
    out.push_back(node);
  }
  return true;
}

void withdraw_nodes(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    driver().graph_nodes.take(node->handle);
    withdraw_child(*node);
  }
}

void withdraw(const Graph& graph) {
  withdraw_nodes(graph);
  driver().graphs.take(graph.handle);
}

void withdraw(Node& node) {
  driver().graph_nodes.take(node.handle);
  withdraw_child(node);
  remove_node(node);
}

void drop_graphs() {
  drop_captures();
  const GraphsLock lock = lock_graphs();
  driver().graph_nodes.clear();
  driver().child_graphs.clear();
  driver().graphs.clear();
  driver().graph_execs.clear();
}

}  // namespace cuda_twin
