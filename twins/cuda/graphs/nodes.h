// Adds nodes to graphs.
#pragma once

#include "cuda/driver/pools.h"
#include "cuda/graphs/graph.h"
#include "cuda/graphs/params.h"

namespace cuda_twin {

/// Where a new node goes, as the caller says.
struct Place {
  CUgraphNode* node;
  CUgraph graph;
  const CUgraphNode* dependencies;
  const CUgraphEdgeData* edges;
  std::size_t count;
};

/// A free of graph memory is about to become a node of `graph`.
CUresult claim_free(const Graph& graph, FreeWork& work);

}  // namespace cuda_twin
