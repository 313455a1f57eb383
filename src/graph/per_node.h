// A value for each node of a graph.
#pragma once

#include <utility>
#include <vector>

#include "base/indexed_vector.h"
#include "shunt/graph.h"

namespace shunt {

/// By node id. Only a NodeId indexes it.
template <class T>
class PerNode : public IndexedVector<NodeId, T> {
 public:
  PerNode() = default;
  explicit PerNode(const Graph& graph, const T& value = T())
      : IndexedVector<NodeId, T>(graph.size(), value) {}
  PerNode(std::vector<T> all) : IndexedVector<NodeId, T>(std::move(all)) {}
};

}  // namespace shunt
