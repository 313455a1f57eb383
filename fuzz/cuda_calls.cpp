// Calls of the CUDA twin in any order: streams, events, capture, graphs, memory of all kinds,
// modules, contexts of two devices; with handles that are null, made up, of something else or
// destroyed. No call may crash or hang, and nothing is alive after the reset.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cuda_graph_calls.h"

namespace shunt::fuzz {
namespace {

constexpr std::size_t kMostOperations = 120;
constexpr std::size_t kBlock = std::size_t{2} << 20;

class Run : public CudaGraphCalls {
 public:
  explicit Run(Bytes bytes) : CudaGraphCalls(bytes) {
    cuda_twin_reset_settings();
    cuda_twin_reset();
    (void)cuda_twin_set("CUDA_TWIN_MEMORY", "268435456");
    (void)cuda_twin_set("CUDA_TWIN_FINDINGS", "record");
    constexpr std::array<const char*, 4> kSeeds = {"0", "0", "1", "7"};
    (void)cuda_twin_set("CUDA_TWIN_ORDER", kSeeds[bytes_.next(4)]);
    constexpr std::array<const char*, 4> kDevices = {"a100", "a100,a100", "orin", "h200"};
    (void)cuda_twin_set("CUDA_TWIN_PROFILE", kDevices[bytes_.next(4)]);
    require(cuInit(0) == CUDA_SUCCESS);
    CUcontext context = nullptr;
    require(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    require(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    contexts_ = {context};
    load_module();
    require(functions_.size() == 1);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    require(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
    streams_ = {nullptr, CU_STREAM_PER_THREAD};
    for (int i = 0; i < 2; ++i) make_stream();
    make_event();
    allocate();
    make_word();
  }

  void all_operations() {
    for (std::size_t i = 0; i < kMostOperations && !bytes_.empty(); ++i) operation();
    (void)cuCtxSynchronize();
    (void)cuDevicePrimaryCtxRelease(0);
    cuda_twin_reset();
    for (std::uint32_t kind = CUDA_TWIN_DEVICE_ALLOCATIONS; kind <= CUDA_TWIN_POOLS; ++kind)
      require(cuda_twin_count_live(static_cast<cuda_twin_live>(kind)) == 0);
  }

 private:
  void make_stream() {
    CUstream made = nullptr;
    const CUresult code = cuStreamCreate(&made, bytes_.next(2));
    keep(streams_, made, code);
  }
  void make_event() {
    CUevent made = nullptr;
    const CUresult code = cuEventCreate(&made, bytes_.next(2) * 2);
    keep(events_, made, code);
  }
  void allocate() {
    CUdeviceptr made = 0;
    const CUresult code = cuMemAlloc(&made, 256);
    keep(addresses_, made, code);
    if (code == CUDA_SUCCESS) (void)cuMemsetD8(made, 1, 256);
  }
  void allocate_in_stream() {
    CUdeviceptr made = 0;
    const CUresult code = cuMemAllocAsync(&made, 256 + bytes_.next() * 100000ull, stream());
    keep(addresses_, made, code);
  }
  void make_graph() {
    CUgraph made = nullptr;
    const CUresult code = cuGraphCreate(&made, 0);
    keep(graphs_, made, code);
  }

  void add_node() {
    std::array<CUgraphNode, 3> before{};
    const std::size_t count = bytes_.next(4);
    for (std::size_t i = 0; i < count; ++i) before[i] = any(nodes_);
    const CUgraph graph = any(graphs_);
    CUgraphNode made = nullptr;
    CUresult code = CUDA_SUCCESS;
    switch (bytes_.next(9)) {
      case 0: {
        const CUDA_KERNEL_NODE_PARAMS params = kernel_params();
        code = cuGraphAddKernelNode(&made, graph, before.data(), count, &params);
        break;
      }
      case 1: {
        const CUDA_MEMCPY3D params = copy_params();
        code = cuGraphAddMemcpyNode(&made, graph, before.data(), count, &params, nullptr);
        break;
      }
      case 2: {
        const CUDA_MEMSET_NODE_PARAMS params = fill_params();
        code = cuGraphAddMemsetNode(&made, graph, before.data(), count, &params, nullptr);
        break;
      }
      case 3:
        code = cuGraphAddChildGraphNode(&made, graph, before.data(), count, any(graphs_));
        break;
      case 4:
        code = cuGraphAddEventRecordNode(&made, graph, before.data(), count, any(events_));
        break;
      case 5:
        code = cuGraphAddEventWaitNode(&made, graph, before.data(), count, any(events_));
        break;
      case 6: {
        CUDA_MEM_ALLOC_NODE_PARAMS params{};
        params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        params.bytesize = 64;
        code = cuGraphAddMemAllocNode(&made, graph, before.data(), count, &params);
        keep(addresses_, params.dptr, code);
        break;
      }
      case 7:
        code = cuGraphAddMemFreeNode(&made, graph, before.data(), count, any_address());
        break;
      default: {
        const CUDA_HOST_NODE_PARAMS params = {[](void*) {}, nullptr};
        code = cuGraphAddHostNode(&made, graph, before.data(), count, &params);
      }
    }
    keep(nodes_, made, code);
  }

  void change_graph() {
    const CUgraphNode from = any(nodes_);
    const CUgraphNode to = any(nodes_);
    switch (bytes_.next(7)) {
      case 0:
        (void)cuGraphAddDependencies(any(graphs_), &from, &to, nullptr, 1);
        break;
      case 1:
        (void)cuGraphRemoveDependencies(any(graphs_), &from, &to, nullptr, 1);
        break;
      case 2:
        (void)cuGraphDestroyNode(from);
        break;
      case 3:
        (void)cuGraphDestroy(any(graphs_));
        break;
      case 4: {
        CUgraph made = nullptr;
        const CUresult code = cuGraphClone(&made, any(graphs_));
        keep(graphs_, made, code);
        break;
      }
      case 5: {
        CUgraph child = nullptr;
        const CUresult code = cuGraphChildGraphNodeGetGraph(from, &child);
        keep(graphs_, child, code);
        break;
      }
      default: {
        std::array<CUgraphNode, 4> list{};
        std::size_t count = list.size();
        if (cuGraphGetNodes(any(graphs_), list.data(), &count) != CUDA_SUCCESS) break;
        for (std::size_t i = 0; i < count; ++i) keep(nodes_, list[i], CUDA_SUCCESS);
      }
    }
  }

  void change_exec() {
    const CUgraphExec exec = any(execs_);
    const CUgraphNode node = any(nodes_);
    switch (bytes_.next(6)) {
      case 0: {
        const CUDA_KERNEL_NODE_PARAMS params = kernel_params();
        (void)cuGraphExecKernelNodeSetParams(exec, node, &params);
        break;
      }
      case 1: {
        const CUDA_MEMCPY3D params = copy_params();
        (void)cuGraphExecMemcpyNodeSetParams(exec, node, &params, nullptr);
        break;
      }
      case 2: {
        const CUDA_MEMSET_NODE_PARAMS params = fill_params();
        (void)cuGraphExecMemsetNodeSetParams(exec, node, &params, nullptr);
        break;
      }
      case 3: {
        CUgraphExecUpdateResultInfo info{};
        (void)cuGraphExecUpdate(exec, any(graphs_), &info);
        break;
      }
      case 4:
        (void)cuGraphNodeSetEnabled(exec, node, bytes_.next(2));
        break;
      default:
        (void)cuGraphExecDestroy(exec);
    }
  }

  void use_virtual_memory() {
    switch (bytes_.next(6)) {
      case 0: {
        CUmemAllocationProp prop{};
        prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        CUmemGenericAllocationHandle made = 0;
        const CUresult code = cuMemCreate(&made, kBlock, &prop, 0);
        keep(physicals_, made, code);
        break;
      }
      case 1: {
        CUdeviceptr made = 0;
        const CUresult code = cuMemAddressReserve(&made, 2 * kBlock, 0, 0, 0);
        keep(addresses_, made, code);
        break;
      }
      case 2:
        (void)cuMemMap(any_address() + bytes_.next(2) * kBlock, kBlock, 0, any_physical(), 0);
        break;
      case 3:
        (void)cuMemUnmap(any_address() + bytes_.next(2) * kBlock, (1 + bytes_.next(2)) * kBlock);
        break;
      case 4: {
        constexpr std::array<CUmemAccess_flags, 3> kFlags = {CU_MEM_ACCESS_FLAGS_PROT_NONE,
                                                             CU_MEM_ACCESS_FLAGS_PROT_READ,
                                                             CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        const CUmemAccessDesc desc = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, kFlags[bytes_.next(3)]};
        (void)cuMemSetAccess(any_address(), (1 + bytes_.next(2)) * kBlock, &desc, 1);
        break;
      }
      default:
        (void)cuMemRelease(any_physical());
        (void)cuMemAddressFree(any_address(), 2 * kBlock);
    }
  }
  CUmemGenericAllocationHandle any_physical() {
    const unsigned byte = bytes_.next();
    return byte >= 252 || physicals_.empty() ? byte : physicals_[byte % physicals_.size()];
  }

  void submit() {
    switch (bytes_.next(6)) {
      case 0: {
        const CUDA_KERNEL_NODE_PARAMS params = kernel_params();
        (void)cuLaunchKernel(params.func, 1, 1, 1, params.blockDimX, 1, 1, 0, stream(),
                             params.kernelParams, nullptr);
        break;
      }
      case 1:
        (void)cuMemcpyDtoDAsync(any_address(), any_address(), bytes_.next(), stream());
        break;
      case 2:
        (void)cuMemcpyHtoDAsync(any_address(), host_bytes.data(), bytes_.next(), stream());
        break;
      case 3:
        (void)cuMemcpyDtoHAsync(host_bytes.data(), any_address(), bytes_.next(), stream());
        break;
      case 4:
        (void)cuMemsetD8Async(any_address(), 3, bytes_.next(), stream());
        break;
      default:
        (void)cuLaunchHostFunc(
            stream(), [](void*) {}, nullptr);
    }
  }

  void capture() {
    const CUstream which = stream();
    if (bytes_.next(3) != 0) {
      (void)cuStreamBeginCapture(which, static_cast<CUstreamCaptureMode>(bytes_.next(4)));
      return;
    }
    CUgraph made = nullptr;
    const CUresult code = cuStreamEndCapture(which, &made);
    keep(graphs_, made, code);
  }
  void show_capture() {
    CUstreamCaptureStatus status{};
    CUgraph graph = nullptr;
    const CUgraphNode* nodes = nullptr;
    std::size_t count = 0;
    const CUresult code =
        cuStreamGetCaptureInfo_v2(stream(), &status, nullptr, &graph, &nodes, &count);
    if (code != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
    keep(graphs_, graph, code);
    for (std::size_t i = 0; i < count; ++i) keep(nodes_, nodes[i], code);
    CUgraphNode other = any(nodes_);
    (void)cuStreamUpdateCaptureDependencies(stream(), &other, nullptr, 1, bytes_.next(2));
  }
  void instantiate() {
    CUgraphExec made = nullptr;
    const CUresult code = cuGraphInstantiate(&made, any(graphs_), bytes_.next(2));
    keep(execs_, made, code);
  }
  void synchronize() {
    switch (bytes_.next(5)) {
      case 0:
        (void)cuStreamSynchronize(stream());
        break;
      case 1:
        (void)cuEventSynchronize(any(events_));
        break;
      case 2:
        (void)cuStreamQuery(stream());
        break;
      case 3:
        (void)cuEventQuery(any(events_));
        break;
      default:
        (void)cuCtxSynchronize();
    }
  }
  void destroy() {
    switch (bytes_.next(4)) {
      case 0:
        (void)cuStreamDestroy(stream());
        break;
      case 1:
        (void)cuEventDestroy(any(events_));
        break;
      case 2:
        (void)cuMemFree(any_address());
        break;
      default:
        (void)cuMemFreeAsync(any_address(), stream());
    }
  }

  void operation() {
    using Operation = void (Run::*)();
    static constexpr Operation kOperations[] = {&Run::submit,
                                                &Run::submit,
                                                &Run::submit,
                                                &Run::record,
                                                &Run::wait,
                                                &Run::capture,
                                                &Run::capture,
                                                &Run::show_capture,
                                                &Run::make_graph,
                                                &Run::add_node,
                                                &Run::add_node,
                                                &Run::change_graph,
                                                &Run::instantiate,
                                                &Run::launch,
                                                &Run::launch,
                                                &Run::change_exec,
                                                &Run::synchronize,
                                                &Run::destroy,
                                                &Run::make_stream,
                                                &Run::make_event,
                                                &Run::allocate,
                                                &Run::allocate_in_stream,
                                                &Run::use_virtual_memory,
                                                &Run::set_mode,
                                                &Run::allocate_of_a_kind,
                                                &Run::free_host_memory,
                                                &Run::ask_about_memory,
                                                &Run::use_pool,
                                                &Run::copy,
                                                &Run::fill,
                                                &Run::use_values,
                                                &Run::use_module,
                                                &Run::use_function,
                                                &Run::launch_with_attributes,
                                                &Run::use_context,
                                                &Run::measure,
                                                &Run::add_node_of_any_type,
                                                &Run::instantiate_with_params,
                                                &Run::capture_to_graph,
                                                &Run::show_capture_with_edges,
                                                &Run::use_params_of_node,
                                                &Run::list_edges,
                                                &Run::look_up,
                                                &Run::encode_tensor_map};
    (this->*kOperations[bytes_.next(std::size(kOperations))])();
  }
  void record() { (void)cuEventRecordWithFlags(any(events_), stream(), bytes_.next(4) == 0); }
  void wait() { (void)cuStreamWaitEvent(stream(), any(events_), bytes_.next(4) == 0); }
  void launch() { (void)cuGraphLaunch(any(execs_), stream()); }
  void set_mode() {
    auto mode = static_cast<CUstreamCaptureMode>(bytes_.next(4));
    (void)cuThreadExchangeStreamCaptureMode(&mode);
  }
};

}  // namespace
}  // namespace shunt::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shunt::fuzz;
  Run(Bytes({data, std::min<std::size_t>(size, 600)})).all_operations();
  return 0;
}
