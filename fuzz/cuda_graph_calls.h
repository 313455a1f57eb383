// Calls of the CUDA twin about graphs in their less common forms, and about parameters of nodes.
#pragma once

#include "cuda_context_calls.h"

namespace shunt::fuzz {

class CudaGraphCalls : public CudaContextCalls {
 protected:
  using CudaContextCalls::CudaContextCalls;

  CUDA_KERNEL_NODE_PARAMS kernel_params() {
    argument_ = any_device_address();
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = bytes_.next(8) == 0 ? any(functions_) : functions_.front();
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = 1 + bytes_.next(32);
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments_.data();
    return params;
  }
  CUDA_MEMCPY3D copy_params() {
    CUDA_MEMCPY3D params{};
    params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.srcDevice = any_address();
    params.dstDevice = any_address();
    if (bytes_.next(3) == 0) {
      params.srcMemoryType = CU_MEMORYTYPE_HOST;
      params.srcHost = host_bytes.data();
    }
    params.WidthInBytes = bytes_.next(64);
    params.Height = 1 + bytes_.next(3);
    params.Depth = 1;
    return params;
  }
  CUDA_MEMSET_NODE_PARAMS fill_params() {
    CUDA_MEMSET_NODE_PARAMS params{};
    params.dst = any_address();
    params.elementSize = 1u << bytes_.next(4);
    params.width = bytes_.next(8);
    params.height = 1 + bytes_.next(2);
    params.pitch = bytes_.next(32);
    return params;
  }
  CUgraphEdgeData edge_data() {
    CUgraphEdgeData data{};
    data.from_port = static_cast<unsigned char>(bytes_.next(4));
    data.to_port = static_cast<unsigned char>(bytes_.next(8) == 0);
    data.type = static_cast<unsigned char>(bytes_.next(3));
    return data;
  }

  void add_node_of_any_type() {
    const CUgraphNode before = any(nodes_);
    const CUgraphEdgeData data = edge_data();
    CUgraphNodeParams params{};
    params.type = static_cast<CUgraphNodeType>(bytes_.next(16));
    if (params.type == CU_GRAPH_NODE_TYPE_KERNEL) params.kernel = kernel_params();
    if (params.type == CU_GRAPH_NODE_TYPE_MEMCPY) params.memcpy.copyParams = copy_params();
    if (params.type == CU_GRAPH_NODE_TYPE_GRAPH) params.graph.graph = any(graphs_);
    if (params.type == CU_GRAPH_NODE_TYPE_HOST) params.host.fn = [](void*) {};
    if (params.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) params.eventRecord.event = any(events_);
    if (params.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) params.eventWait.event = any(events_);
    if (params.type == CU_GRAPH_NODE_TYPE_MEM_FREE) params.free.dptr = any_address();
    if (bytes_.next(8) == 0) params.reserved2 = 1;
    CUgraphNode made = nullptr;
    const CUresult code =
        cuGraphAddNode(&made, any(graphs_), &before, bytes_.next(2) == 0 ? nullptr : &data,
                       bytes_.next(2), &params);
    keep(nodes_, made, code);
  }

  void instantiate_with_params() {
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    params.flags = bytes_.next(16);
    params.hUploadStream = stream();
    CUgraphExec made = nullptr;
    const CUresult code = cuGraphInstantiateWithParams(&made, any(graphs_), &params);
    keep(execs_, made, code);
    if (code != CUDA_SUCCESS) return;
    cuuint64_t flags = 0;
    require(cuGraphExecGetFlags(made, &flags) == CUDA_SUCCESS && flags == params.flags);
  }

  void capture_to_graph() {
    const CUgraphNode before = any(nodes_);
    const CUgraphEdgeData data = edge_data();
    (void)cuStreamBeginCaptureToGraph(stream(), any(graphs_), &before,
                                      bytes_.next(2) == 0 ? nullptr : &data, bytes_.next(2),
                                      static_cast<CUstreamCaptureMode>(bytes_.next(4)));
  }
  void show_capture_with_edges() {
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0;
    CUgraph graph = nullptr;
    const CUgraphNode* nodes = nullptr;
    const CUgraphEdgeData* edges = nullptr;
    std::size_t count = 0;
    const CUresult code =
        cuStreamGetCaptureInfo(stream(), &status, &id, &graph, &nodes, &edges, &count);
    if (code != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
    keep(graphs_, graph, code);
    const CUgraphEdgeData data = count == 0 ? edge_data() : edges[0];
    CUgraphNode other = any(nodes_);
    (void)cuStreamUpdateCaptureDependencies(stream(), &other, &data, 1, bytes_.next(2));
  }

  /// Reads the parameters of a node and sets them again. Those of another node may have another
  /// type.
  void use_params_of_node() {
    const CUgraphNode node = any(nodes_);
    const bool is_new = bytes_.next(2) == 0;
    switch (bytes_.next(4)) {
      case 0: {
        CUDA_KERNEL_NODE_PARAMS params{};
        if (cuGraphKernelNodeGetParams(node, &params) != CUDA_SUCCESS) break;
        if (is_new) params = kernel_params();
        (void)cuGraphKernelNodeSetParams(node, &params);
        break;
      }
      case 1: {
        CUDA_MEMCPY3D params{};
        if (cuGraphMemcpyNodeGetParams(node, &params) != CUDA_SUCCESS) break;
        if (is_new) params = copy_params();
        (void)cuGraphMemcpyNodeSetParams(node, &params);
        break;
      }
      case 2: {
        CUDA_MEMSET_NODE_PARAMS params{};
        if (cuGraphMemsetNodeGetParams(node, &params) != CUDA_SUCCESS) break;
        if (is_new) params = fill_params();
        (void)cuGraphMemsetNodeSetParams(node, &params);
        break;
      }
      default: {
        CUDA_HOST_NODE_PARAMS params{};
        if (cuGraphHostNodeGetParams(node, &params) != CUDA_SUCCESS) break;
        (void)cuGraphHostNodeSetParams(node, &params);
      }
    }
  }
  void list_edges() {
    std::array<CUgraphNode, 4> from{};
    std::array<CUgraphNode, 4> to{};
    std::array<CUgraphEdgeData, 4> data{};
    std::size_t count = bytes_.next(5);
    CUgraphEdgeData* const place = bytes_.next(2) == 0 ? nullptr : data.data();
    (void)cuGraphGetEdges(any(graphs_), from.data(), to.data(), place, &count);
    count = bytes_.next(5);
    (void)cuGraphNodeGetDependencies(any(nodes_), to.data(), place, &count);
    count = bytes_.next(5);
    (void)cuGraphNodeGetDependentNodes(any(nodes_), to.data(), place, &count);
  }

  /// A fill through the form that the flags choose.
  void look_up() {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status{};
    const int version = 2000 + static_cast<int>(bytes_.next()) * 50;
    const CUresult code =
        cuGetProcAddress("cuMemsetD32", &function, version, bytes_.next(5), &status);
    require((code == CUDA_SUCCESS) == (function != nullptr));
    if (code != CUDA_SUCCESS) return;
    using Fill = CUresult (*)(CUdeviceptr, unsigned, std::size_t);
    (void)reinterpret_cast<Fill>(function)(any_address(), 5, bytes_.next(8));
  }

  void encode_tensor_map() {
    CUtensorMap map{};
    std::array<cuuint64_t, 5> sizes{};
    std::array<cuuint64_t, 4> strides{};
    std::array<cuuint32_t, 5> box{};
    std::array<cuuint32_t, 5> steps{};
    for (cuuint64_t& size : sizes) size = bytes_.next() * 4ull;
    for (cuuint64_t& stride : strides) stride = bytes_.next() * 8ull;
    for (cuuint32_t& edge : box) edge = bytes_.next(80);
    for (cuuint32_t& step : steps) step = bytes_.next(10);
    (void)cuTensorMapEncodeTiled(&map, static_cast<CUtensorMapDataType>(bytes_.next(18)),
                                 bytes_.next(7), reinterpret_cast<void*>(any_address()),
                                 sizes.data(), strides.data(), box.data(), steps.data(),
                                 static_cast<CUtensorMapInterleave>(bytes_.next(4)),
                                 static_cast<CUtensorMapSwizzle>(bytes_.next(6)),
                                 static_cast<CUtensorMapL2promotion>(bytes_.next(5)),
                                 static_cast<CUtensorMapFloatOOBfill>(bytes_.next(3)));
  }

 private:
  CUdeviceptr argument_ = 0;
  std::uint32_t number_ = 3;
  std::array<void*, 2> arguments_ = {&argument_, &number_};
};

}  // namespace shunt::fuzz
