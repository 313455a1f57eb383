// All graphs, nodes and executable graphs by their handles. A handle is a number that is never
// given out twice, so that one which is freed or foreign is found out.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "cuda/graphs/graph.h"

namespace cuda_twin {

class Graphs {
 public:
  std::mutex lock;  ///< of everything here, and of the graphs themselves

  /// A graph of the caller, or one that a capture fills.
  CUgraph add(std::shared_ptr<Graph> graph);
  /// Handles for a new node, and for the child graph in it.
  void add(Node& node);
  CUgraphExec add(std::shared_ptr<GraphExec> exec);

  /// Null for a handle that is none.
  std::shared_ptr<Graph> graph(CUgraph handle) const;
  /// Of a graph of the caller or a child graph.
  Graph* any_graph(CUgraph handle) const;
  Node* node(CUgraphNode handle) const;
  std::shared_ptr<GraphExec> exec(CUgraphExec handle) const;
  /// The nodes of these handles, all of `graph`, each once; or false.
  bool nodes(const Graph& graph, std::span<const CUgraphNode> handles,
             std::vector<Node*>& out) const;

  void remove(const Graph& graph);
  void remove(Node& node);  ///< and takes it out of its graph
  void remove(CUgraphExec handle);
  /// Handles of the nodes and child graphs of a graph that is replaced.
  void forget_nodes(const Graph& graph);

  std::size_t count_graphs() const;  ///< of callers: neither child graphs nor captures
  std::size_t count_execs() const { return execs_.size(); }
  void clear();

 private:
  std::uintptr_t next() { return next_ += 16; }

  std::unordered_map<CUgraph, std::shared_ptr<Graph>> graphs_;
  std::unordered_map<CUgraph, Graph*> children_;
  std::unordered_map<CUgraphNode, Node*> nodes_;
  std::unordered_map<CUgraphExec, std::shared_ptr<GraphExec>> execs_;
  std::uintptr_t next_ = std::uintptr_t{1} << 40;
};

Graphs& graphs();

}  // namespace cuda_twin
