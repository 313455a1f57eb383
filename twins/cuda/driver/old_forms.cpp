// Each older form calls the newest one. Those of three functions are beside their newest forms.
#include <algorithm>
#include <cstring>

#include "cuda/call.h"
#include "cuda/driver/old_forms.h"

namespace cuda_twin {
namespace {

/// The frame of a function whose body calls another one of the driver.
template <class Body>
CUresult forward(const char* function, Body body) noexcept {
  return call(function, [&]() -> CUresult {
    const Forwarding inside(function);
    return body();
  });
}

/// The parameters with the members that came later, all null. `use` gets null for null.
template <class Use>
CUresult with_newest(const CUDA_KERNEL_NODE_PARAMS_v1* params, const Use& use) {
  if (params == nullptr) return use(nullptr);
  CUDA_KERNEL_NODE_PARAMS newest{};
  static_assert(sizeof *params < sizeof newest);
  std::memcpy(&newest, params, sizeof *params);
  return use(&newest);
}

/// The reason of the last error, cut to the caller's buffer and ended with a 0.
void write_reason(CUresult result, char* log, size_t bytes) {
  if (log == nullptr || bytes == 0) return;
  const char* const reason = result == CUDA_SUCCESS ? "" : twin::last_message();
  const size_t length = std::min(std::strlen(reason), bytes - 1);
  std::memcpy(log, reason, length);
  log[length] = 0;
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return forward(__func__, [&] {
    return with_newest(params, [&](const CUDA_KERNEL_NODE_PARAMS* newest) {
      return cuGraphAddKernelNode_v2(node, graph, dependencies, count, newest);
    });
  });
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return forward(__func__, [&]() -> CUresult {
    CUDA_KERNEL_NODE_PARAMS newest{};
    CUDA_TWIN_TRY(cuGraphKernelNodeGetParams_v2(node, params == nullptr ? nullptr : &newest));
    std::memcpy(params, &newest, sizeof *params);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return forward(__func__, [&] {
    return with_newest(params, [&](const CUDA_KERNEL_NODE_PARAMS* newest) {
      return cuGraphKernelNodeSetParams_v2(node, newest);
    });
  });
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return forward(__func__, [&] {
    return with_newest(params, [&](const CUDA_KERNEL_NODE_PARAMS* newest) {
      return cuGraphExecKernelNodeSetParams_v2(exec, node, newest);
    });
  });
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        size_t count, CUgraphNodeParams* params) {
  return forward(__func__, [&] {
    return cuGraphAddNode_v2(node, graph, dependencies, nullptr, count, params);
  });
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* errorNode, char* log,
                               size_t bytes) {
  return forward(__func__, [&] {
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    const CUresult result = cuGraphInstantiateWithParams(exec, graph, &params);
    if (errorNode != nullptr) *errorNode = params.hErrNode_out;
    write_reason(result, log, bytes);
    return result;
  });
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* errorNode,
                           CUgraphExecUpdateResult* result) {
  return forward(__func__, [&] {
    CUgraphExecUpdateResultInfo info{};
    const CUresult code = cuGraphExecUpdate_v2(exec, graph, &info);
    if (errorNode != nullptr) *errorNode = info.errorNode;
    if (result != nullptr) *result = info.result;
    return code;
  });
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t count) {
  return forward(__func__,
                 [&] { return cuGraphAddDependencies_v2(graph, from, to, nullptr, count); });
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
  return forward(__func__,
                 [&] { return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count); });
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return forward(__func__, [&] { return cuGraphGetEdges_v2(graph, from, to, nullptr, count); });
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* dependencies, size_t* count) {
  return forward(__func__,
                 [&] { return cuGraphNodeGetDependencies_v2(node, dependencies, nullptr, count); });
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* dependents, size_t* count) {
  return forward(__func__,
                 [&] { return cuGraphNodeGetDependentNodes_v2(node, dependents, nullptr, count); });
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return forward(__func__, [&] {
    return cuStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr);
  });
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, size_t count,
                                           unsigned int flags) {
  return forward(__func__, [&] {
    return cuStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
  });
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                              unsigned int flags) {
  return forward(__func__, [&] { return cuStreamWriteValue32_v2(stream, address, value, flags); });
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                              unsigned int flags) {
  return forward(__func__, [&] { return cuStreamWriteValue64_v2(stream, address, value, flags); });
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                             unsigned int flags) {
  return forward(__func__, [&] { return cuStreamWaitValue32_v2(stream, address, value, flags); });
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                             unsigned int flags) {
  return forward(__func__, [&] { return cuStreamWaitValue64_v2(stream, address, value, flags); });
}

}  // extern "C"
