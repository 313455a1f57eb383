// Dependencies as callers give them: nodes by handle, with data or without.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cuda/graphs/graph.h"

namespace cuda_twin {

/// Edges from `count` nodes of the graph to a node of type `to`, if that is known. Refuses null
/// arrays, nodes of other graphs, nodes that are there twice, and data that no edge may have.
/// `data` may be null: ordinary edges.
CUresult edges_of(const Graph& graph, const CUgraphNode* nodes, const CUgraphEdgeData* data,
                  std::size_t count, std::vector<Edge>& edges,
                  std::optional<CUgraphNodeType> to = std::nullopt);
/// Whether any edge is more than an ordinary one.
bool has_edge_data(std::span<const Edge> edges);
bool is_same(const CUgraphEdgeData& a, const CUgraphEdgeData& b);
/// Programmatic edges are between kernels; only kernels have ports other than 0.
bool is_valid(const CUgraphEdgeData& data, CUgraphNodeType from, std::optional<CUgraphNodeType> to);

/// The driver's way to return a list: its length if `to` is null, else as many as `count` allows,
/// and null for the rest.
template <class T>
void fill_list(const std::vector<T>& list, T* to, std::size_t* count) {
  if (to == nullptr) {
    *count = list.size();
    return;
  }
  const std::size_t most = *count;
  for (std::size_t i = 0; i < most; ++i) to[i] = i < list.size() ? list[i] : T{};
  if (list.size() < most) *count = list.size();
}

}  // namespace cuda_twin
