// Parameters of nodes: read, and changed before the graph is instantiated.
#include <utility>

#include "cuda/call.h"
#include "cuda/graphs/graphs.h"
#include "cuda/graphs/params.h"

namespace cuda_twin {
namespace {

/// `use(node, work)` for a node that has this kind of work. Needs the lock.
template <class Kind, class Use>
CUresult with_node(CUgraphNode handle, const void* params, const Use& use) {
  if (params == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the parameters are null");
  const GraphsLock lock = lock_graphs();
  Node* const node = node_of(handle);
  Kind* const work = node == nullptr ? nullptr : std::get_if<Kind>(&node->work);
  if (work == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no node of this type");
  return use(*node, *work);
}

void set(Node& node, NewNode&& made) {
  node.work = std::move(made.work);
  node.context = std::move(made.context);
  node.parameters.clear();
}

CUresult get_kernel(Node& node, KernelWork& work, CUDA_KERNEL_NODE_PARAMS& params) {
  node.parameters.clear();
  for (const KernelInfo::Parameter& each : work.function->kernel->parameters)
    node.parameters.push_back(work.parameters.data() + each.offset);
  params = {};
  params.func = work.function->handle;
  params.gridDimX = work.grid.x;
  params.gridDimY = work.grid.y;
  params.gridDimZ = work.grid.z;
  params.blockDimX = work.block.x;
  params.blockDimY = work.block.y;
  params.blockDimZ = work.block.z;
  params.sharedMemBytes = work.dynamic_shared;
  params.kernelParams = node.parameters.data();
  params.ctx = node.context == nullptr ? nullptr : node.context->handle;
  return CUDA_SUCCESS;
}

CUresult set_kernel(Node& node, const KernelWork& old, const CUDA_KERNEL_NODE_PARAMS& params) {
  NewNode made;
  CUDA_TWIN_TRY(kernel_node(&params, made, &old));
  set(node, std::move(made));
  return CUDA_SUCCESS;
}

CUcontext handle_of(const Node& node) {
  return node.context == nullptr ? nullptr : node.context->handle;
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS* params) {
  return call(__func__, [&] {
    return with_node<KernelWork>(handle, params, [&](Node& node, KernelWork& work) {
      return get_kernel(node, work, *params);
    });
  });
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS* params) {
  return call(__func__, [&] {
    return with_node<KernelWork>(handle, params, [&](Node& node, const KernelWork& work) {
      return set_kernel(node, work, *params);
    });
  });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D* params) {
  return call(__func__, [&] {
    return with_node<CopyWork>(handle, params, [&](const Node&, const CopyWork& work) -> CUresult {
      *params = copy_params(work);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode handle, const CUDA_MEMCPY3D* params) {
  return call(__func__, [&] {
    return with_node<CopyWork>(handle, params, [&](Node& node, const CopyWork&) -> CUresult {
      NewNode made;
      CUDA_TWIN_TRY(copy_node(params, handle_of(node), made));
      set(node, std::move(made));
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* params) {
  return call(__func__, [&] {
    return with_node<FillWork>(handle, params, [&](const Node&, const FillWork& work) -> CUresult {
      *params = fill_params(work);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode handle, const CUDA_MEMSET_NODE_PARAMS* params) {
  return call(__func__, [&] {
    return with_node<FillWork>(handle, params, [&](Node& node, const FillWork&) -> CUresult {
      NewNode made;
      CUDA_TWIN_TRY(fill_node(params, handle_of(node), made));
      set(node, std::move(made));
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* params) {
  return call(__func__, [&] {
    return with_node<HostWork>(handle, params, [&](const Node&, const HostWork& work) -> CUresult {
      *params = {work.function, work.user};
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuGraphHostNodeSetParams(CUgraphNode handle, const CUDA_HOST_NODE_PARAMS* params) {
  return call(__func__, [&] {
    return with_node<HostWork>(handle, params, [&](Node& node, const HostWork&) -> CUresult {
      NewNode made;
      CUDA_TWIN_TRY(host_node(params, made));
      set(node, std::move(made));
      return CUDA_SUCCESS;
    });
  });
}

}  // extern "C"
