// The calls of capture and graphs.
#include "long_program.h"

namespace twin_test {
namespace {

constexpr unsigned kGraphLaunch = kLaunches | kWorks | kTakesMemory;

void count_long_program_node(void* user) {
  ++*static_cast<unsigned*>(user);
}

}  // namespace

void LongProgram::add_capture() {
  add("cuStreamBeginCapture", 0,
      [this] { return cuStreamBeginCapture(side_, CU_STREAM_CAPTURE_MODE_GLOBAL); });
  add("cuStreamIsCapturing", 0, [this] {
    CUstreamCaptureStatus status{};
    return cuStreamIsCapturing(side_, &status);
  });
  add("cuMemsetD32Async", 0, [this] { return cuMemsetD32Async(plain_, 60, kCount, side_); });
  add("cuLaunchKernel", kLaunches, [this] { return launch(plain_, side_); });
  add("cuMemcpyDtoDAsync", kCopies,
      [this] { return cuMemcpyDtoDAsync(other_, plain_, kBytes, side_); });
  add("cuEventRecord", 0, [this] { return cuEventRecord(forked_, side_); });
  add("cuStreamWaitEvent", 0, [this] { return cuStreamWaitEvent(main_, forked_, 0); });
  add("cuLaunchKernel", kLaunches, [this] { return launch(other_, main_); });
  add("cuEventRecord", 0, [this] { return cuEventRecord(joined_, main_); });
  add("cuStreamWaitEvent", 0, [this] { return cuStreamWaitEvent(side_, joined_, 0); });
  add("cuStreamGetCaptureInfo", 0, [this] {
    CUstreamCaptureStatus status{};
    return cuStreamGetCaptureInfo(side_, &status, nullptr, nullptr, nullptr, nullptr, &size_);
  });
  add("cuStreamUpdateCaptureDependencies", 0, [this] {
    return cuStreamUpdateCaptureDependencies(side_, nullptr, nullptr, 0,
                                             CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
  });
  add("cuMemAllocAsync", kAllocates,
      [this] { return cuMemAllocAsync(&in_capture_, kBlock, side_); });
  add("cuMemsetD32Async", 0, [this] { return cuMemsetD32Async(in_capture_, 1, kCount, side_); });
  add("cuMemFreeAsync", 0, [this] { return cuMemFreeAsync(in_capture_, side_); });
  add("cuLaunchHostFunc", 0,
      [this] { return cuLaunchHostFunc(side_, count_long_program_node, &host_calls_); });
  add("cuThreadExchangeStreamCaptureMode", 0, [] {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return cuThreadExchangeStreamCaptureMode(&mode);
  });
  add("cuStreamEndCapture", 0, [this] { return cuStreamEndCapture(side_, &captured_); });
  add("cuGraphInstantiateWithFlags", kInstantiates,
      [this] { return cuGraphInstantiate(&captured_exec_, captured_, 0); });
  add("cuGraphUpload", 0, [this] { return cuGraphUpload(captured_exec_, side_); });
  add("cuGraphLaunch", kGraphLaunch, [this] { return cuGraphLaunch(captured_exec_, side_); });
  add("cuStreamSynchronize", kWaits, [this] { return cuStreamSynchronize(side_); });
  add("cuMemcpyDtoH", kCopies | kWorks | kWaits,
      [this] { return cuMemcpyDtoH(to_.data(), other_, kBytes); });
  expect(to_.data(), 62);
}

CUDA_KERNEL_NODE_PARAMS LongProgram::kernel_params(CUdeviceptr* address) {
  static unsigned count = kCount;
  static void* arguments[2];
  arguments[0] = address;
  arguments[1] = &count;
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = add_one_;
  params.gridDimX = params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = kCount;
  params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = arguments;
  return params;
}

CUDA_MEMSET_NODE_PARAMS LongProgram::fill_params(CUdeviceptr to, unsigned value) {
  CUDA_MEMSET_NODE_PARAMS params{};
  params.dst = to;
  params.elementSize = 4;
  params.value = value;
  params.width = kCount;
  params.height = 1;
  return params;
}

CUDA_MEMCPY3D LongProgram::flat_copy(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.WidthInBytes = kBytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

CUDA_HOST_NODE_PARAMS LongProgram::host_params(unsigned* calls) {
  return {count_long_program_node, calls};
}

/// One path: 40 into `plain`, 41, a copy to `other`, 42 in a child graph, memory of the graph, 43.
void LongProgram::add_nodes() {
  add("cuGraphCreate", 0, [this] { return cuGraphCreate(&graph_, 0); });
  add("cuGraphCreate", 0, [this] { return cuGraphCreate(&child_, 0); });
  add("cuGraphAddKernelNode", 0, [this] {
    const CUDA_KERNEL_NODE_PARAMS params = kernel_params(&other_);
    return cuGraphAddKernelNode(&last_, child_, nullptr, 0, &params);
  });
  add("cuGraphAddMemsetNode", 0, [this] {
    const CUDA_MEMSET_NODE_PARAMS params = fill_params(plain_, 40);
    return cuGraphAddMemsetNode(&fill_, graph_, nullptr, 0, &params, nullptr);
  });
  add("cuGraphAddKernelNode", 0, [this] {
    const CUDA_KERNEL_NODE_PARAMS params = kernel_params(&plain_);
    return cuGraphAddKernelNode(&kernel_, graph_, &fill_, 1, &params);
  });
  add("cuGraphAddMemcpyNode", 0, [this] {
    const CUDA_MEMCPY3D params = flat_copy(other_, plain_);
    return cuGraphAddMemcpyNode(&copy_, graph_, &kernel_, 1, &params, nullptr);
  });
  add("cuGraphAddHostNode", 0, [this] {
    const CUDA_HOST_NODE_PARAMS params = host_params(&host_calls_);
    return cuGraphAddHostNode(&host_, graph_, &copy_, 1, &params);
  });
  add("cuGraphAddChildGraphNode", 0,
      [this] { return cuGraphAddChildGraphNode(&nested_, graph_, &host_, 1, child_); });
  add("cuGraphAddMemAllocNode", kAllocates, [this] {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps = pool_props();
    params.bytesize = kBlock;
    const CUresult code = cuGraphAddMemAllocNode(&allocate_, graph_, &nested_, 1, &params);
    in_graph_ = params.dptr;
    return code;
  });
  add("cuGraphAddMemsetNode", 0, [this] {
    const CUDA_MEMSET_NODE_PARAMS params = fill_params(in_graph_, 1);
    return cuGraphAddMemsetNode(&scratch_, graph_, &allocate_, 1, &params, nullptr);
  });
  add("cuGraphAddMemFreeNode", 0,
      [this] { return cuGraphAddMemFreeNode(&free_, graph_, &scratch_, 1, in_graph_); });
  add("cuGraphAddEventRecordNode", 0,
      [this] { return cuGraphAddEventRecordNode(&record_, graph_, &free_, 1, forked_); });
  add("cuGraphAddEventWaitNode", 0,
      [this] { return cuGraphAddEventWaitNode(&wait_, graph_, &record_, 1, forked_); });
  add("cuGraphAddEmptyNode", 0, [this] { return cuGraphAddEmptyNode(&empty_, graph_, &wait_, 1); });
  add("cuGraphAddNode", 0, [this] {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    params.kernel = kernel_params(&other_);
    return cuGraphAddNode(&any_, graph_, &empty_, nullptr, 1, &params);
  });
}

void LongProgram::add_edges() {
  // Edges and nodes of a graph with memory stay.
  add("cuGraphAddEmptyNode", 0,
      [this] { return cuGraphAddEmptyNode(&extra_node_, child_, nullptr, 0); });
  add("cuGraphAddDependencies", 0,
      [this] { return cuGraphAddDependencies(child_, &last_, &extra_node_, nullptr, 1); });
  add("cuGraphRemoveDependencies", 0,
      [this] { return cuGraphRemoveDependencies(child_, &last_, &extra_node_, nullptr, 1); });
  add("cuGraphDestroyNode", 0, [this] { return cuGraphDestroyNode(extra_node_); });
  add("cuGraphGetNodes", 0, [this] { return cuGraphGetNodes(graph_, nullptr, &size_); });
  add("cuGraphGetRootNodes", 0, [this] { return cuGraphGetRootNodes(graph_, nullptr, &size_); });
  add("cuGraphGetEdges", 0,
      [this] { return cuGraphGetEdges(graph_, nullptr, nullptr, nullptr, &size_); });
  add("cuGraphNodeGetType", 0, [this] {
    CUgraphNodeType type{};
    return cuGraphNodeGetType(copy_, &type);
  });
  add("cuGraphNodeGetDependencies", 0,
      [this] { return cuGraphNodeGetDependencies(copy_, nullptr, nullptr, &size_); });
  add("cuGraphNodeGetDependentNodes", 0,
      [this] { return cuGraphNodeGetDependentNodes(copy_, nullptr, nullptr, &size_); });
  add("cuGraphClone", 0, [this] { return cuGraphClone(&clone_, child_); });
  add("cuGraphNodeFindInClone", 0, [this] {
    CUgraphNode found = nullptr;
    return cuGraphNodeFindInClone(&found, last_, clone_);
  });
  add("cuStreamBeginCaptureToGraph", 0, [this] {
    return cuStreamBeginCaptureToGraph(side_, clone_, nullptr, nullptr, 0,
                                       CU_STREAM_CAPTURE_MODE_RELAXED);
  });
  add("cuLaunchKernel", kLaunches, [this] { return launch(other_, side_); });
  add("cuStreamEndCapture", 0, [this] { return cuStreamEndCapture(side_, &inner_); });
  add("cuGraphDestroy", 0, [this] { return cuGraphDestroy(clone_); });
}

void LongProgram::add_node_parameters() {
  add("cuGraphKernelNodeGetParams", 0, [this] {
    CUDA_KERNEL_NODE_PARAMS params{};
    return cuGraphKernelNodeGetParams(kernel_, &params);
  });
  add("cuGraphKernelNodeSetParams", 0, [this] {
    const CUDA_KERNEL_NODE_PARAMS params = kernel_params(&plain_);
    return cuGraphKernelNodeSetParams(kernel_, &params);
  });
  add("cuGraphMemcpyNodeGetParams", 0, [this] {
    CUDA_MEMCPY3D params{};
    return cuGraphMemcpyNodeGetParams(copy_, &params);
  });
  add("cuGraphMemcpyNodeSetParams", 0, [this] {
    const CUDA_MEMCPY3D params = flat_copy(other_, plain_);
    return cuGraphMemcpyNodeSetParams(copy_, &params);
  });
  add("cuGraphMemsetNodeGetParams", 0, [this] {
    CUDA_MEMSET_NODE_PARAMS params{};
    return cuGraphMemsetNodeGetParams(fill_, &params);
  });
  add("cuGraphMemsetNodeSetParams", 0, [this] {
    const CUDA_MEMSET_NODE_PARAMS params = fill_params(plain_, 40);
    return cuGraphMemsetNodeSetParams(fill_, &params);
  });
  add("cuGraphHostNodeGetParams", 0, [this] {
    CUDA_HOST_NODE_PARAMS params{};
    return cuGraphHostNodeGetParams(host_, &params);
  });
  add("cuGraphHostNodeSetParams", 0, [this] {
    const CUDA_HOST_NODE_PARAMS params = host_params(&host_calls_);
    return cuGraphHostNodeSetParams(host_, &params);
  });
  add("cuGraphChildGraphNodeGetGraph", 0,
      [this] { return cuGraphChildGraphNodeGetGraph(nested_, &inner_); });
}

void LongProgram::add_graph_launches() {
  const auto add_result = [this](unsigned value) {
    add("cuMemcpyDtoHAsync", kCopies | kWorks | kWaits,
        [this] { return cuMemcpyDtoHAsync(to_.data(), other_, kBytes, main_); });
    expect(to_.data(), value);
  };
  add("cuGraphInstantiateWithFlags", kInstantiates,
      [this] { return cuGraphInstantiate(&exec_, graph_, 0); });
  add("cuGraphInstantiateWithParams", kInstantiates, [this] {
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    return cuGraphInstantiateWithParams(&spare_exec_, child_, &params);
  });
  add("cuGraphExecGetFlags", 0, [this] {
    cuuint64_t flags = 0;
    return cuGraphExecGetFlags(exec_, &flags);
  });
  add("cuGraphLaunch", kGraphLaunch, [this] { return cuGraphLaunch(exec_, main_); });
  add_result(43);
  add("cuGraphExecKernelNodeSetParams", 0, [this] {
    const CUDA_KERNEL_NODE_PARAMS params = kernel_params(&plain_);
    return cuGraphExecKernelNodeSetParams(exec_, kernel_, &params);
  });
  add("cuGraphExecMemcpyNodeSetParams", 0, [this] {
    const CUDA_MEMCPY3D params = flat_copy(other_, plain_);
    return cuGraphExecMemcpyNodeSetParams(exec_, copy_, &params, nullptr);
  });
  add("cuGraphExecMemsetNodeSetParams", 0, [this] {
    const CUDA_MEMSET_NODE_PARAMS params = fill_params(plain_, 50);
    return cuGraphExecMemsetNodeSetParams(exec_, fill_, &params, nullptr);
  });
  add("cuGraphExecHostNodeSetParams", 0, [this] {
    const CUDA_HOST_NODE_PARAMS params = host_params(&host_calls_);
    return cuGraphExecHostNodeSetParams(exec_, host_, &params);
  });
  add("cuGraphExecChildGraphNodeSetParams", 0,
      [this] { return cuGraphExecChildGraphNodeSetParams(exec_, nested_, child_); });
  add("cuGraphNodeSetEnabled", 0, [this] { return cuGraphNodeSetEnabled(exec_, any_, 0); });
  add("cuGraphNodeGetEnabled", 0, [this] { return cuGraphNodeGetEnabled(exec_, any_, &flags_); });
  add("cuGraphLaunch", kGraphLaunch, [this] { return cuGraphLaunch(exec_, main_); });
  add_result(52);
  add("cuGraphNodeSetEnabled", 0, [this] { return cuGraphNodeSetEnabled(exec_, any_, 1); });
  add("cuGraphExecUpdate", 0, [this] {
    CUgraphExecUpdateResultInfo info{};
    return cuGraphExecUpdate(exec_, graph_, &info);
  });
  add("cuGraphLaunch", kGraphLaunch, [this] { return cuGraphLaunch(exec_, main_); });
  add_result(43);
  add("cuGraphLaunch", kGraphLaunch, [this] { return cuGraphLaunch(spare_exec_, main_); });
  add_result(44);
  add("cuGraphExecDestroy", 0, [this] { return cuGraphExecDestroy(captured_exec_); });
  add("cuGraphExecDestroy", 0, [this] { return cuGraphExecDestroy(exec_); });
  add("cuGraphExecDestroy", 0, [this] { return cuGraphExecDestroy(spare_exec_); });
  add("cuGraphDestroy", 0, [this] { return cuGraphDestroy(captured_); });
  add("cuGraphDestroy", 0, [this] { return cuGraphDestroy(graph_); });
  add("cuGraphDestroy", 0, [this] { return cuGraphDestroy(child_); });
}

void LongProgram::end_graphs() {
  CUgraph left = nullptr;
  if (cuStreamEndCapture(side_, &left) == CUDA_SUCCESS && left != clone_) captured_ = left;
  for (const CUgraphExec exec : {captured_exec_, exec_, spare_exec_})
    (void)cuGraphExecDestroy(exec);
  for (const CUgraph graph : {captured_, graph_, child_, clone_}) (void)cuGraphDestroy(graph);
}

}  // namespace twin_test
