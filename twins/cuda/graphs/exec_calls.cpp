// Parameters of single nodes of an executable graph. Launches that were submitted keep the old
// ones.
#include <utility>

#include "cuda/call.h"
#include "cuda/graphs/graphs.h"
#include "cuda/graphs/params.h"
#include "cuda/graphs/update.h"

namespace cuda_twin {
namespace {

/// Needs the lock.
CUresult find_step(CUgraphExec handle, CUgraphNode node, std::shared_ptr<GraphExec>& exec,
                   Step& step) {
  exec = driver().graph_execs.find(handle);
  if (exec == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no executable graph");
  const Step* const found = node_of(node) == nullptr ? nullptr : step_of(*exec->plan, node);
  if (found == nullptr)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "the executable graph has no such node, or the node was destroyed");
  step = *found;
  return CUDA_SUCCESS;
}

/// Gives a step new work of the same kind, made by `make(step, made)`.
template <class Kind, class Make>
CUresult change(CUgraphExec handle, CUgraphNode node, const Make& make) {
  const GraphsLock lock = lock_graphs();
  std::shared_ptr<GraphExec> exec;
  Step step;
  CUDA_TWIN_TRY(find_step(handle, node, exec, step));
  if (!std::holds_alternative<Kind>(step.work) || step.child != nullptr)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the node is of another type");
  NewNode made;
  CUDA_TWIN_TRY(make(step, made));
  const char* reason = "";
  if (check_change(step, made.work, made.context.get(), true, reason) !=
      CU_GRAPH_EXEC_UPDATE_SUCCESS)
    return refuse(CUDA_ERROR_INVALID_VALUE, reason);
  step.work = std::move(made.work);
  step.context = std::move(made.context);
  exec->plan = with_step(*exec->plan, node, step);
  return CUDA_SUCCESS;
}

CUresult change_kernel(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  return change<KernelWork>(exec, node, [&](const Step& step, NewNode& made) -> CUresult {
    return kernel_node(params, made, &std::get<KernelWork>(step.work));
  });
}

CUresult change_child(CUgraphExec handle, CUgraphNode node, CUgraph child) {
  const GraphsLock lock = lock_graphs();
  std::shared_ptr<GraphExec> exec;
  Step step;
  CUDA_TWIN_TRY(find_step(handle, node, exec, step));
  const Graph* const graph = graph_of(child);
  if (step.child == nullptr || graph == nullptr || outermost(*graph).capturing)
    return refuse(CUDA_ERROR_INVALID_VALUE, "no node with a child graph, or no graph");
  CUgraphExecUpdateResultInfo info{};
  const char* reason = "";
  step.child = updated(*step.child, *graph, info, reason);
  if (step.child == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, reason);
  exec->plan = with_step(*exec->plan, node, step);
  return CUDA_SUCCESS;
}

bool can_be_disabled(const Step& step) {
  return step.type == CU_GRAPH_NODE_TYPE_KERNEL || step.type == CU_GRAPH_NODE_TYPE_MEMCPY ||
         step.type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult find_switch(CUgraphExec handle, CUgraphNode node, std::shared_ptr<GraphExec>& exec,
                     Step& step) {
  CUDA_TWIN_TRY(find_step(handle, node, exec, step));
  if (can_be_disabled(step)) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_INVALID_VALUE, "only kernels, copies and fills can be disabled");
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS* params) {
  return call(__func__, [&] { return change_kernel(exec, node, params); });
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D* params, CUcontext context) {
  return call(__func__, [&] {
    return change<CopyWork>(
        exec, node, [&](const Step&, NewNode& made) { return copy_node(params, context, made); });
  });
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  return call(__func__, [&] {
    return change<FillWork>(
        exec, node, [&](const Step&, NewNode& made) { return fill_node(params, context, made); });
  });
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* params) {
  return call(__func__, [&] {
    return change<HostWork>(exec, node,
                            [&](const Step&, NewNode& made) { return host_node(params, made); });
  });
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return call(__func__, [&] { return change_child(exec, node, child); });
}

CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node, unsigned int enabled) {
  return call(__func__, [&]() -> CUresult {
    const GraphsLock lock = lock_graphs();
    std::shared_ptr<GraphExec> exec;
    Step step;
    CUDA_TWIN_TRY(find_switch(handle, node, exec, step));
    step.enabled = enabled != 0;
    exec->plan = with_step(*exec->plan, node, step);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node, unsigned int* enabled) {
  return call(__func__, [&]() -> CUresult {
    if (enabled == nullptr)
      return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the answer is null");
    const GraphsLock lock = lock_graphs();
    std::shared_ptr<GraphExec> exec;
    Step step;
    CUDA_TWIN_TRY(find_switch(handle, node, exec, step));
    *enabled = step.enabled ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
