// cuGraphInstantiate and its like.
#include <utility>

#include "cuda/call.h"
#include "cuda/driver/pools.h"
#include "cuda/graphs/capture.h"
#include "cuda/graphs/exec.h"
#include "cuda/graphs/graphs.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

struct Outcome {
  CUgraphExec exec = nullptr;
  CUgraphInstantiateResult result = CUDA_GRAPH_INSTANTIATE_ERROR;
  CUgraphNode node = nullptr;  ///< that is to blame
};

CUresult check_flags(unsigned long long flags, bool with_upload) {
  const unsigned long long known =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
      CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
      (with_upload ? std::uint32_t{CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD} : 0);
  if ((flags & ~known) != 0) return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "the twin's kernels launch no graphs");
  return CUDA_SUCCESS;
}

/// The node that allocates this memory, or null.
Node* allocating_node(const Graph& graph, const PoolAllocation* memory) {
  for (const auto& node : graph.nodes) {
    const auto* const work = std::get_if<AllocateWork>(&node->work);
    if (work != nullptr && work->memory.get() == memory) return node.get();
  }
  return nullptr;
}

/// A node that frees memory which the graph does not always allocate before, or null.
Node* early_free_in(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    const auto* const work = std::get_if<FreeWork>(&node->work);
    if (work == nullptr) continue;
    Node* const from = allocating_node(graph, work->memory.get());
    Node* const to = node.get();
    if (from != nullptr && !all_lead_to({&from, 1}, {&to, 1})) return to;
  }
  return nullptr;
}

CUresult check_structure(const Graph& graph, Outcome& outcome) {
  const char* reason = "the graph has a cycle";
  const Node* node = cycle_in(graph);
  if (node == nullptr) {
    node = early_free_in(graph);
    reason = "a node frees memory that no node before it allocates";
  }
  if (node == nullptr) return CUDA_SUCCESS;
  outcome.result = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
  outcome.node = node->handle;
  return refuse(CUDA_ERROR_INVALID_VALUE, reason);
}

CUresult instantiate(CUgraph handle, unsigned long long flags, bool with_upload, Outcome& outcome) {
  CUDA_TWIN_TRY(check_flags(flags, with_upload));
  const GraphsLock lock = lock_graphs();
  Graph* const graph = graph_of(handle);
  if (graph == nullptr || outermost(*graph).capturing)
    return refuse(CUDA_ERROR_INVALID_VALUE, "no graph, or one that is still captured");
  CUDA_TWIN_TRY(check_structure(*graph, outcome));
  const bool is_single = has_memory_nodes(*graph);
  if (is_single && !graph->instance.expired())
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "a graph that allocates or frees memory has one executable graph at a time");
  if (fault_is_due(Setting::kFailInstantiate))
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "CUDA_TWIN_FAIL_INSTANTIATE");
  auto exec = std::make_shared<GraphExec>();
  exec->plan = plan_of(*graph);
  exec->flags = flags;
  if (is_single) graph->instance = exec;
  outcome.exec = as_handle<CUgraphExec>(driver().graph_execs.add(std::move(exec)));
  outcome.result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return CUDA_SUCCESS;
}

CUresult upload(CUstream handle) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  CUDA_TWIN_TRY(stream_of(handle, context, stream));
  if (is_capturing(*stream)) return refuse_synchronize(*stream);
  return submit(*stream, EmptyWork{});
}

CUresult instantiate_with(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS& params) {
  Outcome outcome;
  const CUresult code = instantiate(graph, params.flags, true, outcome);
  params.result_out = outcome.result;
  params.hErrNode_out = outcome.node;
  if (code != CUDA_SUCCESS) return code;
  *exec = outcome.exec;
  if ((params.flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) == 0) return CUDA_SUCCESS;
  return upload(params.hUploadStream);
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    if (exec == nullptr)
      return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the executable graph is null");
    Outcome outcome;
    CUDA_TWIN_TRY(instantiate(graph, flags, false, outcome));
    *exec = outcome.exec;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    if (exec == nullptr || params == nullptr)
      return refuse(CUDA_ERROR_INVALID_VALUE, "a place or the parameters are null");
    return instantiate_with(exec, graph, *params);
  });
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
  return call(__func__, [&]() -> CUresult {
    const GraphsLock lock = lock_graphs();
    const std::shared_ptr<GraphExec> found = driver().graph_execs.find(exec);
    if (found == nullptr || flags == nullptr)
      return refuse(CUDA_ERROR_INVALID_VALUE, "no executable graph, or no place for the flags");
    *flags = found->flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return call(__func__, [&]() -> CUresult {
    const std::shared_ptr<GraphExec> found = driver().graph_execs.take(exec);
    if (found == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no executable graph");
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return call(__func__, [&]() -> CUresult {
    if (driver().graph_execs.find(exec) == nullptr)
      return refuse(CUDA_ERROR_INVALID_VALUE, "no executable graph");
    return upload(stream);
  });
}

}  // extern "C"
