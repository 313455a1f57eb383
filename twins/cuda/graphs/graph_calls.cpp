// Graphs as a whole: made, copied, destroyed.
#include <utility>

#include "cuda/call.h"
#include "cuda/graphs/graphs.h"

namespace cuda_twin {
namespace {

CUresult no_graph() {
  return refuse(CUDA_ERROR_INVALID_VALUE, "no graph");
}

CUresult destroy(CUgraph handle) {
  const GraphsLock lock = lock_graphs();
  const std::shared_ptr<Graph> graph = driver().graphs.find(handle);
  if (graph == nullptr) return no_graph();
  if (graph->capturing)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the graph belongs to a capture that has not ended");
  withdraw(*graph);
  return CUDA_SUCCESS;
}

CUresult copy(CUgraph* out, CUgraph handle) {
  if (out == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the graph is null");
  const GraphsLock lock = lock_graphs();
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr || graph->capturing) return no_graph();
  if (has_memory_nodes(*graph))
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "a graph that allocates or frees memory has no copies");
  *out = publish(clone(*graph));
  return CUDA_SUCCESS;
}

CUresult find_in_copy(CUgraphNode* out, CUgraphNode original, CUgraph handle) {
  if (out == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the node is null");
  const GraphsLock lock = lock_graphs();
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr || original == nullptr) return no_graph();
  for (const auto& node : graph->nodes) {
    if (node->origin != original) continue;
    *out = node->handle;
    return CUDA_SUCCESS;
  }
  return refuse(CUDA_ERROR_INVALID_VALUE, "the graph has no copy of this node");
}

CUresult destroy_node(CUgraphNode handle) {
  const GraphsLock lock = lock_graphs();
  Node* const node = node_of(handle);
  if (node == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no node");
  if (outermost(*node->graph).capturing)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the graph belongs to a capture that has not ended");
  if (has_memory_nodes(*node->graph))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the graph allocates or frees memory: its nodes stay");
  withdraw(*node);
  return CUDA_SUCCESS;
}

CUresult child(CUgraphNode handle, CUgraph* graph) {
  if (graph == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the graph is null");
  const GraphsLock lock = lock_graphs();
  const Node* const node = node_of(handle);
  const Graph* const found = node == nullptr ? nullptr : child_of(*node);
  if (found == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no node with a child graph");
  *graph = found->handle;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
  return call(__func__, [&]() -> CUresult {
    if (graph == nullptr || flags != 0)
      return refuse(CUDA_ERROR_INVALID_VALUE,
                    "the place for the graph is null, or flags are not 0");
    const GraphsLock lock = lock_graphs();
    *graph = publish(std::make_shared<Graph>());
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return call(__func__, [&] { return destroy(graph); });
}

CUresult cuGraphClone(CUgraph* to, CUgraph graph) {
  return call(__func__, [&] { return cuda_twin::copy(to, graph); });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original, CUgraph graph) {
  return call(__func__, [&] { return find_in_copy(node, original, graph); });
}

CUresult cuGraphDestroyNode(CUgraphNode node) {
  return call(__func__, [&] { return destroy_node(node); });
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  return call(__func__, [&] { return child(node, graph); });
}

}  // extern "C"
