// A leaf made again in another graph.
#pragma once

#include <string>
#include <utility>

#include "shunt/graph.h"

namespace shunt {

/// A leaf of the role of `node`, with another name and tensor.
inline Result<Value> copy_leaf(GraphBuilder& g, const Node& node, std::string name,
                               const Tensor& tensor) {
  switch (node.role) {
    case Role::kInput:
      return g.input(std::move(name), tensor);
    case Role::kCache:
      return g.cache(std::move(name), tensor);
    default:
      return g.weight(std::move(name), tensor, node.role);
  }
}

/// Extents of the same numbers as those of `graph`, for a builder that has none.
inline Status copy_extents(GraphBuilder& g, const Graph& graph) {
  for (std::size_t i = 1; i < graph.extents().size(); ++i) {
    const auto made = g.extent(graph.extents()[i].name, graph.extents()[i].max);
    if (!made) return Error(made.error());
  }
  return ok();
}

}  // namespace shunt
