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

/// Dynamic dimensions of the same numbers as those of `graph`, for a builder that has none.
inline Status copy_dynamic_dims(GraphBuilder& g, const Graph& graph) {
  for (std::size_t i = 1; i < graph.dynamic_dims().size(); ++i) {
    const auto made = g.dynamic_dim(graph.dynamic_dims()[i].name, graph.dynamic_dims()[i].max);
    if (!made) return Error(made.error());
  }
  return ok();
}

}  // namespace shunt
