#include "cuda/graphs/nodes.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "cuda/call.h"
#include "cuda/driver/access.h"
#include "cuda/graphs/edges.h"
#include "cuda/graphs/graphs.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

/// Whether a node of the graph allocates or frees this memory.
template <class Kind>
bool has_node(const Graph& graph, const PoolAllocation& memory) {
  return std::ranges::any_of(graph.nodes, [&](const std::unique_ptr<Node>& node) {
    const auto* const work = std::get_if<Kind>(&node->work);
    return work != nullptr && work->memory.get() == &memory;
  });
}

/// Adds the node that `make(graph, node)` makes.
template <class Make>
CUresult add(const Place& place, CUgraphNodeType type, const Make& make) {
  if (place.node == nullptr)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the node is null");
  const GraphsLock lock = lock_graphs();
  Graph* const graph = graph_of(place.graph);
  if (graph == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "no graph");
  if (graph->nodes.size() >= kMostNodes)
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the graph has too many nodes");
  std::vector<Edge> edges;
  CUDA_TWIN_TRY(edges_of(*graph, place.dependencies, place.edges, place.count, edges, type));
  NewNode made;
  CUDA_TWIN_TRY(make(*graph, made));
  *place.node = publish(add_node(*graph, std::move(made.work), std::move(made.context), edges));
  return CUDA_SUCCESS;
}

CUresult add_kernel(const Place& place, const CUDA_KERNEL_NODE_PARAMS* params) {
  return add(place, CU_GRAPH_NODE_TYPE_KERNEL,
             [&](const Graph&, NewNode& node) { return kernel_node(params, node); });
}
CUresult add_copy(const Place& place, const CUDA_MEMCPY3D* params, CUcontext context) {
  return add(place, CU_GRAPH_NODE_TYPE_MEMCPY,
             [&](const Graph&, NewNode& node) { return copy_node(params, context, node); });
}
CUresult add_fill(const Place& place, const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  return add(place, CU_GRAPH_NODE_TYPE_MEMSET,
             [&](const Graph&, NewNode& node) { return fill_node(params, context, node); });
}
CUresult add_host(const Place& place, const CUDA_HOST_NODE_PARAMS* params) {
  return add(place, CU_GRAPH_NODE_TYPE_HOST,
             [&](const Graph&, NewNode& node) { return host_node(params, node); });
}
CUresult add_record(const Place& place, CUevent event) {
  return add(place, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
             [&](const Graph&, NewNode& node) { return record_node(event, node); });
}
CUresult add_wait(const Place& place, CUevent event) {
  return add(place, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
             [&](const Graph&, NewNode& node) { return wait_node(event, node); });
}
CUresult add_empty(const Place& place) {
  return add(place, CU_GRAPH_NODE_TYPE_EMPTY,
             [](const Graph&, NewNode&) -> CUresult { return CUDA_SUCCESS; });
}

CUresult child_node(const Graph& parent, CUgraph handle, NewNode& node) {
  const Graph* const child = graph_of(handle);
  if (child == nullptr || child->capturing)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the child is no graph, or is still captured");
  if (has_memory_nodes(*child))
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "a child graph cannot allocate or free memory");
  const Extents all = extents_of(outermost(parent));
  const Extents more = extents_of(*child);
  if (levels_above(parent) + 1 + more.levels > kDeepest || all.nodes + more.nodes > kMostNodes)
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "too many nodes, or levels of child graphs");
  node.work = ChildGraphWork{clone(*child)};
  return CUDA_SUCCESS;
}
CUresult add_child(const Place& place, CUgraph child) {
  return add(place, CU_GRAPH_NODE_TYPE_GRAPH,
             [&](const Graph& graph, NewNode& node) { return child_node(graph, child, node); });
}

CUresult check_allocation(const CUDA_MEM_ALLOC_NODE_PARAMS& params, Device*& device) {
  const CUmemPoolProps& props = params.poolProps;
  if (props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      props.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
      props.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return refuse(CUDA_ERROR_INVALID_VALUE, "a graph's memory is pinned, of a device, not shared");
  CUDA_TWIN_TRY(device_of(props.location.id, device));
  if (params.accessDescCount > driver().devices.size() ||
      (params.accessDescCount != 0 && params.accessDescs == nullptr))
    return refuse(CUDA_ERROR_INVALID_VALUE, "no list of accesses, or more entries than devices");
  return CUDA_SUCCESS;
}

CUresult allocation_node(const Graph& graph, CUDA_MEM_ALLOC_NODE_PARAMS* params, NewNode& node) {
  if (params == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the parameters are null");
  Device* device = nullptr;
  CUDA_TWIN_TRY(check_allocation(*params, device));
  if (graph.owner != nullptr)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "a child graph cannot allocate or free memory");
  CUDA_TWIN_TRY(context_of(nullptr, node.context));
  if (fault_is_due(Setting::kFailAllocation))
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "CUDA_TWIN_FAIL_ALLOCATION");
  const std::span<const CUmemAccessDesc> accesses(params->accessDescs, params->accessDescCount);
  for (const CUmemAccessDesc& each : accesses) {
    Device* user = nullptr;
    CUDA_TWIN_TRY(access_device(each, *device, user));
  }
  std::shared_ptr<PoolAllocation> memory;
  CUDA_TWIN_TRY(reserve_graph_memory(default_pool(*device), params->bytesize, accesses, memory));
  params->dptr = memory->address;
  node.work = AllocateWork{std::move(memory)};
  return CUDA_SUCCESS;
}
CUresult add_allocation(const Place& place, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return add(place, CU_GRAPH_NODE_TYPE_MEM_ALLOC, [&](const Graph& graph, NewNode& node) {
    return allocation_node(graph, params, node);
  });
}

CUresult free_node(const Graph& graph, CUdeviceptr address, NewNode& node) {
  std::shared_ptr<PoolAllocation> memory = pool_allocation_at(address);
  if (memory == nullptr || memory->address != address)
    return refuse(CUDA_ERROR_INVALID_VALUE, "no node of a graph allocates this address");
  CUDA_TWIN_TRY(context_of(nullptr, node.context));
  FreeWork work{std::move(memory), nullptr};
  CUDA_TWIN_TRY(claim_free(graph, work));
  node.work = std::move(work);
  return CUDA_SUCCESS;
}
CUresult add_free(const Place& place, CUdeviceptr address) {
  return add(place, CU_GRAPH_NODE_TYPE_MEM_FREE,
             [&](const Graph& graph, NewNode& node) { return free_node(graph, address, node); });
}

/// cuGraphAddNode: one function for each type.
using Adder = CUresult (*)(const Place&, CUgraphNodeParams&);
struct AdderRow {
  CUgraphNodeType type;
  Adder add;
};
constexpr AdderRow kAdders[] = {
    {CU_GRAPH_NODE_TYPE_KERNEL,
     [](const Place& place, CUgraphNodeParams& params) {
       return add_kernel(place, &params.kernel);
     }},
    {CU_GRAPH_NODE_TYPE_MEMCPY,
     [](const Place& place, CUgraphNodeParams& params) {
       return add_copy(place, &params.memcpy.copyParams, params.memcpy.copyCtx);
     }},
    {CU_GRAPH_NODE_TYPE_MEMSET,
     [](const Place& place, CUgraphNodeParams& params) {
       const CUDA_MEMSET_NODE_PARAMS_v2& given = params.memset;
       const CUDA_MEMSET_NODE_PARAMS fill = {given.dst,         given.pitch, given.value,
                                             given.elementSize, given.width, given.height};
       return add_fill(place, &fill, given.ctx);
     }},
    {CU_GRAPH_NODE_TYPE_HOST,
     [](const Place& place, CUgraphNodeParams& params) { return add_host(place, &params.host); }},
    {CU_GRAPH_NODE_TYPE_GRAPH,
     [](const Place& place, CUgraphNodeParams& params) -> CUresult {
       if (params.graph.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE)
         return refuse(CUDA_ERROR_NOT_SUPPORTED, "the twin moves no graph into a node");
       return add_child(place, params.graph.graph);
     }},
    {CU_GRAPH_NODE_TYPE_EMPTY,
     [](const Place& place, CUgraphNodeParams&) { return add_empty(place); }},
    {CU_GRAPH_NODE_TYPE_WAIT_EVENT,
     [](const Place& place, CUgraphNodeParams& params) {
       return add_wait(place, params.eventWait.event);
     }},
    {CU_GRAPH_NODE_TYPE_EVENT_RECORD,
     [](const Place& place, CUgraphNodeParams& params) {
       return add_record(place, params.eventRecord.event);
     }},
    {CU_GRAPH_NODE_TYPE_MEM_ALLOC,
     [](const Place& place, CUgraphNodeParams& params) {
       return add_allocation(place, &params.alloc);
     }},
    {CU_GRAPH_NODE_TYPE_MEM_FREE,
     [](const Place& place, CUgraphNodeParams& params) {
       return add_free(place, params.free.dptr);
     }},
};

CUresult add_any(const Place& place, CUgraphNodeParams* params) {
  if (params == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the parameters are null");
  const int* const reserved = params->reserved0;
  if (std::any_of(reserved, reserved + 3, [](int each) { return each != 0; }) ||
      params->reserved2 != 0)
    return refuse(CUDA_ERROR_INVALID_VALUE, "reserved bytes are not 0");
  const auto* const row = std::ranges::find(kAdders, params->type, &AdderRow::type);
  if (row != std::end(kAdders)) return row->add(place, *params);
  if (static_cast<unsigned>(params->type) <= CU_GRAPH_NODE_TYPE_CONDITIONAL)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "the twin has no nodes of this type");
  return refuse(CUDA_ERROR_INVALID_VALUE, "unknown type of node");
}

}  // namespace

CUresult claim_free(const Graph& graph, FreeWork& work) {
  if (has_node<FreeWork>(graph, *work.memory))
    return refuse(CUDA_ERROR_INVALID_VALUE, "a node of this graph frees this memory");
  return claim_free(*work.memory, has_node<AllocateWork>(graph, *work.memory), work.claim);
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
  return call(__func__, [&] {
    return add_kernel({node, graph, dependencies, nullptr, count}, params);
  });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMCPY3D* params, CUcontext context) {
  return call(__func__, [&] {
    return add_copy({node, graph, dependencies, nullptr, count}, params, context);
  });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS* params,
                              CUcontext context) {
  return call(__func__, [&] {
    return add_fill({node, graph, dependencies, nullptr, count}, params, context);
  });
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_HOST_NODE_PARAMS* params) {
  return call(__func__, [&] {
    return add_host({node, graph, dependencies, nullptr, count}, params);
  });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, CUgraph child) {
  return call(__func__, [&] {
    return add_child({node, graph, dependencies, nullptr, count}, child);
  });
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                             size_t count) {
  return call(__func__, [&] { return add_empty({node, graph, dependencies, nullptr, count}); });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph,
                                   const CUgraphNode* dependencies, size_t count, CUevent event) {
  return call(__func__, [&] {
    return add_record({node, graph, dependencies, nullptr, count}, event);
  });
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, CUevent event) {
  return call(__func__, [&] {
    return add_wait({node, graph, dependencies, nullptr, count}, event);
  });
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return call(__func__, [&] {
    return add_allocation({node, graph, dependencies, nullptr, count}, params);
  });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr address) {
  return call(__func__, [&] {
    return add_free({node, graph, dependencies, nullptr, count}, address);
  });
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* params) {
  return call(__func__, [&] { return add_any({node, graph, dependencies, edges, count}, params); });
}

}  // extern "C"
