// The calls before the graphs, and those that end everything.
#include "long_program.h"

namespace twin_test {
namespace {

void count_long_program(void* user) {
  ++*static_cast<unsigned*>(user);
}

template <class T>
T* words_in(void* memory) {
  return static_cast<T*>(memory);
}

}  // namespace

LongProgram::LongProgram() {
  for (unsigned i = 0; i < kCount; ++i) from_[i] = i;
  add_devices();
  add_contexts();
  add_modules();
  add_streams();
  add_memory();
  add_fills();
  add_copies();
  add_asynchronous_work();
  add_launches();
  add_pools();
  add_virtual_memory();
  add_capture();
  add_nodes();
  add_edges();
  add_node_parameters();
  add_graph_launches();
  add_ends();
}

LongProgram::Ending LongProgram::run(std::size_t first) const {
  for (std::size_t at = first; at < calls_.size(); ++at) {
    const CUresult code = calls_[at].make();
    if (code != CUDA_SUCCESS) return {at, code};
  }
  return {calls_.size(), CUDA_SUCCESS};
}

void LongProgram::expect(const unsigned* words, unsigned value) {
  add(nullptr, 0, [words, value] {
    for (unsigned i = 0; i < kCount; ++i)
      if (words[i] != value) return CUDA_ERROR_ASSERT;
    return CUDA_SUCCESS;
  });
}

void LongProgram::add_devices() {
  add("cuDeviceGetCount", 0, [this] { return cuDeviceGetCount(&number_); });
  add("cuDeviceGet", 0, [this] { return cuDeviceGet(&number_, 0); });
  add("cuDeviceGetName", 0, [this] { return cuDeviceGetName(name_.data(), 64, 0); });
  add("cuDeviceGetUuid", 0, [] {
    CUuuid id;
    return cuDeviceGetUuid(&id, 0);
  });
  add("cuDeviceTotalMem", 0, [this] { return cuDeviceTotalMem(&size_, 0); });
  add("cuDeviceGetAttribute", 0,
      [this] { return cuDeviceGetAttribute(&number_, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0); });
  add("cuDeviceGetPCIBusId", 0, [this] { return cuDeviceGetPCIBusId(name_.data(), 64, 0); });
  add("cuDeviceGetByPCIBusId", 0, [this] { return cuDeviceGetByPCIBusId(&number_, name_.data()); });
  add("cuDeviceCanAccessPeer", 0, [this] { return cuDeviceCanAccessPeer(&number_, 0, 0); });
  add("cuDevicePrimaryCtxGetState", 0,
      [this] { return cuDevicePrimaryCtxGetState(0, &flags_, &number_); });
  add("cuDevicePrimaryCtxSetFlags", 0,
      [] { return cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_AUTO); });
}

void LongProgram::add_contexts() {
  add("cuDevicePrimaryCtxRetain", 0, [this] { return cuDevicePrimaryCtxRetain(&context_, 0); });
  add("cuCtxSetCurrent", 0, [this] { return cuCtxSetCurrent(context_); });
  add("cuMemGetInfo", 0, [this] { return cuMemGetInfo(&size_, &other_size_); });
  // An earlier run of the program left nothing.
  add(nullptr, 0, [this] { return size_ == other_size_ ? CUDA_SUCCESS : CUDA_ERROR_ASSERT; });
  add("cuCtxGetCurrent", 0, [this] { return cuCtxGetCurrent(&asked_); });
  add("cuCtxGetDevice", 0, [this] { return cuCtxGetDevice(&number_); });
  add("cuCtxGetFlags", 0, [this] { return cuCtxGetFlags(&flags_); });
  add("cuCtxGetId", 0, [this] { return cuCtxGetId(context_, &wide_); });
  add("cuCtxGetApiVersion", 0, [this] { return cuCtxGetApiVersion(context_, &flags_); });
  add("cuCtxGetLimit", 0, [this] { return cuCtxGetLimit(&size_, CU_LIMIT_STACK_SIZE); });
  add("cuCtxSetLimit", 0, [] { return cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048); });
  add("cuCtxGetStreamPriorityRange", 0,
      [this] { return cuCtxGetStreamPriorityRange(&number_, &other_number_); });
  add("cuCtxSynchronize", kWaits, [] { return cuCtxSynchronize(); });
  add("cuCtxCreate", 0, [this] { return cuCtxCreate(&extra_, nullptr, 0, 0); });
  add("cuCtxPopCurrent", 0, [this] { return cuCtxPopCurrent(&asked_); });
  add("cuCtxPushCurrent", 0, [this] { return cuCtxPushCurrent(extra_); });
  add("cuCtxDestroy", 0, [this] { return cuCtxDestroy(extra_); });
}

void LongProgram::add_modules() {
  add("cuModuleLoadData", kLoads | kTakesMemory,
      [this] { return cuModuleLoadData(&spare_, text_.c_str()); });
  add("cuModuleUnload", kWaits, [this] { return cuModuleUnload(spare_); });
  add("cuModuleLoadDataEx", kLoads | kTakesMemory,
      [this] { return cuModuleLoadDataEx(&module_, text_.c_str(), 0, nullptr, nullptr); });
  add("cuModuleGetFunction", 0,
      [this] { return cuModuleGetFunction(&add_one_, module_, "add_one"); });
  add("cuModuleGetFunction", 0,
      [this] { return cuModuleGetFunction(&reverse_, module_, "reverse"); });
  add("cuModuleGetGlobal", 0,
      [this] { return cuModuleGetGlobal(&found_, &size_, module_, "counter"); });
  add("cuFuncGetAttribute", 0,
      [this] { return cuFuncGetAttribute(&number_, CU_FUNC_ATTRIBUTE_NUM_REGS, add_one_); });
  add("cuFuncSetAttribute", 0, [this] {
    return cuFuncSetAttribute(reverse_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536);
  });
  add("cuFuncSetCacheConfig", 0,
      [this] { return cuFuncSetCacheConfig(add_one_, CU_FUNC_CACHE_PREFER_L1); });
  add("cuFuncGetModule", 0, [this] { return cuFuncGetModule(&spare_, add_one_); });
  add("cuFuncGetName", 0, [this] {
    const char* name = nullptr;
    return cuFuncGetName(&name, add_one_);
  });
  add("cuFuncGetParamInfo", 0,
      [this] { return cuFuncGetParamInfo(add_one_, 0, &size_, &other_size_); });
  add("cuOccupancyMaxActiveBlocksPerMultiprocessor", 0,
      [this] { return cuOccupancyMaxActiveBlocksPerMultiprocessor(&number_, add_one_, 64, 0); });
  add("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 0, [this] {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&number_, add_one_, 64, 0, 0);
  });
  add("cuOccupancyMaxPotentialBlockSize", 0, [this] {
    return cuOccupancyMaxPotentialBlockSize(&number_, &other_number_, add_one_, nullptr, 0, 0);
  });
  add("cuOccupancyAvailableDynamicSMemPerBlock", 0,
      [this] { return cuOccupancyAvailableDynamicSMemPerBlock(&size_, add_one_, 1, 64); });
}

void LongProgram::add_streams() {
  add("cuStreamCreate", 0, [this] { return cuStreamCreate(&main_, CU_STREAM_DEFAULT); });
  add("cuStreamCreateWithPriority", 0,
      [this] { return cuStreamCreateWithPriority(&side_, CU_STREAM_NON_BLOCKING, -1); });
  add("cuStreamGetFlags", 0, [this] { return cuStreamGetFlags(side_, &flags_); });
  add("cuStreamGetPriority", 0, [this] { return cuStreamGetPriority(side_, &number_); });
  add("cuStreamGetCtx", 0, [this] { return cuStreamGetCtx(side_, &asked_); });
  add("cuStreamGetId", 0, [this] { return cuStreamGetId(side_, &wide_); });
  add("cuEventCreate", 0, [this] { return cuEventCreate(&forked_, CU_EVENT_DEFAULT); });
  add("cuEventCreate", 0, [this] { return cuEventCreate(&joined_, CU_EVENT_DEFAULT); });
}

void LongProgram::add_memory() {
  constexpr unsigned kMemory = kAllocates | kTakesMemory;
  add("cuMemAlloc", kMemory, [this] { return cuMemAlloc(&plain_, kBytes); });
  add("cuMemAlloc", kMemory, [this] { return cuMemAlloc(&other_, 2 * kBlock); });
  add("cuMemAlloc", kMemory, [this] { return cuMemAlloc(&word_, 16); });
  add("cuMemAllocPitch", kMemory,
      [this] { return cuMemAllocPitch(&pitched_, &pitch_, 16, 16, 4); });
  add("cuMemAllocManaged", kMemory,
      [this] { return cuMemAllocManaged(&managed_, kBytes, CU_MEM_ATTACH_GLOBAL); });
  add("cuMemGetAddressRange", 0,
      [this] { return cuMemGetAddressRange(&found_, &size_, plain_ + 4); });
  add("cuPointerGetAttribute", 0,
      [this] { return cuPointerGetAttribute(&number_, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, plain_); });
  add("cuPointerGetAttributes", 0, [this] {
    CUpointer_attribute list[] = {CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void* values[] = {&number_};
    return cuPointerGetAttributes(1, list, values, managed_);
  });
  add("cuMemHostAlloc", kPins,
      [this] { return cuMemHostAlloc(&pinned_, kBytes, CU_MEMHOSTALLOC_PORTABLE); });
  add("cuMemAllocHost", kPins, [this] { return cuMemAllocHost(&mapped_, kBytes); });
  add("cuMemHostRegister", kPins,
      [this] { return cuMemHostRegister(registered_.data(), kBytes, 0); });
  add("cuMemHostGetDevicePointer", 0,
      [this] { return cuMemHostGetDevicePointer(&found_, mapped_, 0); });
  add("cuMemHostGetFlags", 0, [this] { return cuMemHostGetFlags(&flags_, pinned_); });
}

void LongProgram::add_fills() {
  constexpr unsigned kKinds = kWorks | kWaits;
  add("cuMemsetD8", kKinds, [this] { return cuMemsetD8(plain_, 1, kBytes); });
  add("cuMemsetD16", kKinds, [this] { return cuMemsetD16(other_, 2, kBytes / 2); });
  add("cuMemsetD32", kKinds, [this] { return cuMemsetD32(word_, 0, 4); });
  add("cuMemsetD2D8", kKinds, [this] { return cuMemsetD2D8(pitched_, pitch_, 1, 16, 16); });
  add("cuMemsetD2D16", kKinds, [this] { return cuMemsetD2D16(pitched_, pitch_, 2, 8, 16); });
  add("cuMemsetD2D32", kKinds, [this] { return cuMemsetD2D32(pitched_, pitch_, 3, 4, 16); });
}

/// Four words of each of 16 rows.
CUDA_MEMCPY2D LongProgram::rows(bool to_device) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  copy.srcHost = pinned_;
  copy.dstHost = mapped_;
  copy.srcDevice = copy.dstDevice = pitched_;
  copy.srcPitch = to_device ? 16 : pitch_;
  copy.dstPitch = to_device ? pitch_ : 16;
  copy.WidthInBytes = 16;
  copy.Height = 16;
  return copy;
}

CUDA_MEMCPY3D LongProgram::box(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = 16;
  copy.srcHeight = copy.dstHeight = copy.Height = 4;
  copy.Depth = 4;
  return copy;
}

CUDA_MEMCPY3D_PEER LongProgram::peer_box(CUdeviceptr to, CUdeviceptr from, CUcontext context) {
  CUDA_MEMCPY3D_PEER copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.srcContext = copy.dstContext = context;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = 16;
  copy.srcHeight = copy.dstHeight = copy.Height = 4;
  copy.Depth = 4;
  return copy;
}

/// The words 0, 1, ... go through all kinds of copies, each to a place that has other words.
void LongProgram::add_copies() {
  constexpr unsigned kKinds = kCopies | kWorks | kWaits;
  add("cuMemcpyHtoD", kKinds, [this] { return cuMemcpyHtoD(plain_, from_.data(), kBytes); });
  add("cuMemcpyDtoD", kKinds, [this] { return cuMemcpyDtoD(other_, plain_, kBytes); });
  add("cuMemcpy", kKinds, [this] { return cuMemcpy(managed_, other_, kBytes); });
  add("cuMemcpyPeer", kKinds,
      [this] { return cuMemcpyPeer(slot(1), context_, managed_, context_, kBytes); });
  add("cuMemcpy3D", kKinds, [this] {
    const CUDA_MEMCPY3D copy = box(slot(2), slot(1));
    return cuMemcpy3D(&copy);
  });
  add("cuMemcpy3DPeer", kKinds, [this] {
    const CUDA_MEMCPY3D_PEER copy = peer_box(slot(3), slot(2), context_);
    return cuMemcpy3DPeer(&copy);
  });
  add("cuMemcpyDtoH", kKinds, [this] { return cuMemcpyDtoH(pinned_, slot(3), kBytes); });
  add("cuMemcpy2D", kKinds, [this] {
    const CUDA_MEMCPY2D copy = rows(true);
    return cuMemcpy2D(&copy);
  });
  add("cuMemcpy2DUnaligned", kKinds, [this] {
    const CUDA_MEMCPY2D copy = rows(false);
    return cuMemcpy2DUnaligned(&copy);
  });
  add(nullptr, 0, [this] {
    for (unsigned i = 0; i < kCount; ++i)
      if (words_in<unsigned>(mapped_)[i] != i) return CUDA_ERROR_ASSERT;
    return CUDA_SUCCESS;
  });
}

void LongProgram::add_asynchronous_work() {
  constexpr unsigned kCopy = kCopies | kWorks;
  add("cuMemsetD8Async", kWorks, [this] { return cuMemsetD8Async(plain_, 0, kBytes, main_); });
  add("cuMemsetD16Async", kWorks,
      [this] { return cuMemsetD16Async(other_, 0, kBytes / 2, main_); });
  add("cuMemsetD32Async", kWorks, [this] { return cuMemsetD32Async(plain_, 9, kCount, main_); });
  add("cuMemsetD2D8Async", kWorks,
      [this] { return cuMemsetD2D8Async(pitched_, pitch_, 1, 16, 16, main_); });
  add("cuMemsetD2D16Async", kWorks,
      [this] { return cuMemsetD2D16Async(pitched_, pitch_, 2, 8, 16, main_); });
  add("cuMemsetD2D32Async", kWorks,
      [this] { return cuMemsetD2D32Async(pitched_, pitch_, 3, 4, 16, main_); });
  add("cuMemcpyDtoHAsync", kCopy,
      [this] { return cuMemcpyDtoHAsync(pinned_, plain_, kBytes, main_); });
  add("cuMemcpyHtoDAsync", kCopy,
      [this] { return cuMemcpyHtoDAsync(slot(4), pinned_, kBytes, main_); });
  add("cuMemcpyDtoDAsync", kCopy,
      [this] { return cuMemcpyDtoDAsync(slot(5), slot(4), kBytes, main_); });
  add("cuMemcpyAsync", kCopy, [this] { return cuMemcpyAsync(slot(6), slot(5), kBytes, main_); });
  add("cuMemcpyPeerAsync", kCopy,
      [this] { return cuMemcpyPeerAsync(slot(7), context_, slot(6), context_, kBytes, main_); });
  add("cuMemcpy3DAsync", kCopy, [this] {
    const CUDA_MEMCPY3D copy = box(slot(8), slot(7));
    return cuMemcpy3DAsync(&copy, main_);
  });
  add("cuMemcpy3DPeerAsync", kCopy, [this] {
    const CUDA_MEMCPY3D_PEER copy = peer_box(slot(9), slot(8), context_);
    return cuMemcpy3DPeerAsync(&copy, main_);
  });
  add("cuMemcpyDtoHAsync", kCopy,
      [this] { return cuMemcpyDtoHAsync(registered_.data(), slot(9), kBytes, main_); });
  add("cuMemcpy2DAsync", kCopy, [this] {
    const CUDA_MEMCPY2D copy = rows(true);
    return cuMemcpy2DAsync(&copy, main_);
  });
  add("cuStreamSynchronize", kWaits, [this] { return cuStreamSynchronize(main_); });
  expect(registered_.data(), 9);
  add("cuMemcpy2D", kCopy | kWaits, [this] {
    const CUDA_MEMCPY2D copy = rows(false);
    return cuMemcpy2D(&copy);
  });
  add(nullptr, 0, [this] {
    for (unsigned i = 0; i < kCount; ++i)
      if (words_in<unsigned>(mapped_)[i] != 9) return CUDA_ERROR_ASSERT;
    return CUDA_SUCCESS;
  });
}

CUresult LongProgram::launch(CUdeviceptr address, CUstream stream) const {
  unsigned n = kCount;
  void* arguments[] = {&address, &n};
  return cuLaunchKernel(add_one_, 1, 1, 1, kCount, 1, 1, 0, stream, arguments, nullptr);
}

void LongProgram::add_launches() {
  constexpr unsigned kLaunch = kLaunches | kWorks;
  add("cuLaunchKernel", kLaunch, [this] { return launch(plain_, main_); });
  add("cuLaunchKernelEx", kLaunch, [this] {
    void* arguments[] = {&plain_};
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = kCount;
    config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = kBytes;
    config.hStream = main_;
    return cuLaunchKernelEx(&config, reverse_, arguments, nullptr);
  });
  add("cuLaunchCooperativeKernel", kLaunch, [this] {
    unsigned n = kCount;
    void* arguments[] = {&plain_, &n};
    return cuLaunchCooperativeKernel(add_one_, 1, 1, 1, kCount, 1, 1, 0, main_, arguments);
  });
  add("cuLaunchHostFunc", 0,
      [this] { return cuLaunchHostFunc(main_, count_long_program, &host_calls_); });
  add("cuEventRecord", 0, [this] { return cuEventRecord(forked_, main_); });
  add("cuStreamWaitEvent", 0, [this] { return cuStreamWaitEvent(side_, forked_, 0); });
  add("cuLaunchKernel", kLaunch, [this] { return launch(plain_, side_); });
  add("cuEventRecordWithFlags", 0, [this] { return cuEventRecordWithFlags(joined_, side_, 0); });
  add("cuStreamWaitEvent", 0, [this] { return cuStreamWaitEvent(main_, joined_, 0); });
  add("cuLaunchKernel", kLaunch, [this] { return launch(plain_, main_); });
  add("cuStreamWriteValue32", 0, [this] { return cuStreamWriteValue32(main_, word_, 1, 0); });
  add("cuStreamWriteValue64", 0, [this] { return cuStreamWriteValue64(main_, word_ + 8, 1, 0); });
  add("cuStreamWaitValue32", 0,
      [this] { return cuStreamWaitValue32(side_, word_, 1, CU_STREAM_WAIT_VALUE_EQ); });
  add("cuStreamWaitValue64", 0,
      [this] { return cuStreamWaitValue64(side_, word_ + 8, 1, CU_STREAM_WAIT_VALUE_EQ); });
  add("cuMemcpyDtoHAsync", kCopies | kWorks,
      [this] { return cuMemcpyDtoHAsync(pinned_, plain_, kBytes, side_); });
  add("cuEventRecord", 0, [this] { return cuEventRecord(joined_, side_); });
  add("cuEventSynchronize", kWaits, [this] { return cuEventSynchronize(joined_); });
  add("cuEventQuery", kWaits, [this] { return cuEventQuery(joined_); });
  add("cuEventElapsedTime", 0,
      [this] { return cuEventElapsedTime(&milliseconds_, forked_, joined_); });
  add("cuStreamSynchronize", kWaits, [this] { return cuStreamSynchronize(side_); });
  add("cuStreamQuery", kWaits, [this] { return cuStreamQuery(side_); });
  add(nullptr, 0, [this] {
    const unsigned last = words_in<unsigned>(pinned_)[kCount - 1];
    return host_calls_ == 1 && last == 9 + 4 ? CUDA_SUCCESS : CUDA_ERROR_ASSERT;
  });
}

CUmemPoolProps LongProgram::pool_props() {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return props;
}
CUmemAllocationProp LongProgram::memory_props() {
  CUmemAllocationProp props{};
  props.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return props;
}
CUmemAccessDesc LongProgram::full_access() {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

void LongProgram::add_pools() {
  constexpr unsigned kMemory = kAllocates | kTakesMemory;
  add("cuDeviceGetDefaultMemPool", 0, [this] { return cuDeviceGetDefaultMemPool(&usual_, 0); });
  add("cuMemPoolCreate", 0, [this] {
    const CUmemPoolProps props = pool_props();
    return cuMemPoolCreate(&pool_, &props);
  });
  add("cuDeviceSetMemPool", 0, [this] { return cuDeviceSetMemPool(0, pool_); });
  add("cuDeviceGetMemPool", 0, [this] { return cuDeviceGetMemPool(&usual_, 0); });
  add("cuMemPoolSetAttribute", 0, [this] {
    cuuint64_t bytes = kBlock;
    return cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes);
  });
  add("cuMemPoolGetAttribute", 0, [this] {
    cuuint64_t bytes = 0;
    return cuMemPoolGetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes);
  });
  add("cuMemAllocAsync", kMemory, [this] { return cuMemAllocAsync(&async_, kBytes, main_); });
  add("cuMemAllocFromPoolAsync", kMemory,
      [this] { return cuMemAllocFromPoolAsync(&pooled_, 3 * kBlock, pool_, main_); });
  add("cuMemPoolSetAccess", 0, [this] {
    const CUmemAccessDesc access = full_access();
    return cuMemPoolSetAccess(pool_, &access, 1);
  });
  add("cuMemPoolGetAccess", 0, [this] {
    CUmemAccess_flags flags{};
    CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    return cuMemPoolGetAccess(&flags, pool_, &device);
  });
  add("cuMemsetD32Async", kWorks, [this] { return cuMemsetD32Async(async_, 20, kCount, main_); });
  add("cuMemcpyDtoDAsync", kCopies | kWorks,
      [this] { return cuMemcpyDtoDAsync(pooled_, async_, kBytes, main_); });
  add("cuLaunchKernel", kLaunches | kWorks, [this] { return launch(pooled_, main_); });
  add("cuMemFreeAsync", 0, [this] { return cuMemFreeAsync(async_, main_); });
  // Pageable memory: the copy has ended when the call returns.
  add("cuMemcpyDtoHAsync", kCopies | kWorks | kWaits,
      [this] { return cuMemcpyDtoHAsync(to_.data(), pooled_, kBytes, main_); });
  expect(to_.data(), 21);
  add("cuMemFreeAsync", 0, [this] { return cuMemFreeAsync(pooled_, main_); });
  add("cuCtxSynchronize", kWaits, [] { return cuCtxSynchronize(); });
  add("cuMemPoolTrimTo", 0, [this] { return cuMemPoolTrimTo(pool_, 0); });
  add("cuMemPoolDestroy", 0, [this] { return cuMemPoolDestroy(pool_); });
}

void LongProgram::add_virtual_memory() {
  add("cuMemGetAllocationGranularity", 0, [this] {
    const CUmemAllocationProp props = memory_props();
    return cuMemGetAllocationGranularity(&size_, &props, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  });
  add("cuMemAddressReserve", 0,
      [this] { return cuMemAddressReserve(&reserved_, 2 * kBlock, 0, 0, 0); });
  add("cuMemCreate", kAllocates | kTakesMemory, [this] {
    const CUmemAllocationProp props = memory_props();
    return cuMemCreate(&physical_, 2 * kBlock, &props, 0);
  });
  add("cuMemGetAllocationPropertiesFromHandle", 0, [this] {
    CUmemAllocationProp props{};
    return cuMemGetAllocationPropertiesFromHandle(&props, physical_);
  });
  add("cuMemMap", 0, [this] { return cuMemMap(reserved_, 2 * kBlock, 0, physical_, 0); });
  add("cuMemSetAccess", 0, [this] {
    const CUmemAccessDesc access = full_access();
    return cuMemSetAccess(reserved_, 2 * kBlock, &access, 1);
  });
  add("cuMemGetAccess", 0, [this] {
    const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    return cuMemGetAccess(&wide_, &device, reserved_);
  });
  add("cuMemRetainAllocationHandle", 0,
      [this] { return cuMemRetainAllocationHandle(&again_, reinterpret_cast<void*>(reserved_)); });
  add("cuMemRelease", 0, [this] { return cuMemRelease(again_); });
  add("cuMemsetD32", kWorks | kWaits, [this] { return cuMemsetD32(reserved_, 30, kCount); });
  add("cuLaunchKernel", kLaunches | kWorks, [this] { return launch(reserved_, nullptr); });
  add("cuMemcpyDtoH", kCopies | kWorks | kWaits,
      [this] { return cuMemcpyDtoH(to_.data(), reserved_, kBytes); });
  expect(to_.data(), 31);
  add("cuMemUnmap", 0, [this] { return cuMemUnmap(reserved_, 2 * kBlock); });
  add("cuMemRelease", 0, [this] { return cuMemRelease(physical_); });
  add("cuMemAddressFree", 0, [this] { return cuMemAddressFree(reserved_, 2 * kBlock); });
}

void LongProgram::add_ends() {
  add("cuMemFree", kWaits, [this] { return cuMemFree(plain_); });
  add("cuMemFree", kWaits, [this] { return cuMemFree(other_); });
  add("cuMemFree", kWaits, [this] { return cuMemFree(word_); });
  add("cuMemFree", kWaits, [this] { return cuMemFree(pitched_); });
  add("cuMemFree", kWaits, [this] { return cuMemFree(managed_); });
  add("cuMemFreeHost", kWaits, [this] { return cuMemFreeHost(pinned_); });
  add("cuMemFreeHost", kWaits, [this] { return cuMemFreeHost(mapped_); });
  add("cuMemHostUnregister", kWaits, [this] { return cuMemHostUnregister(registered_.data()); });
  add("cuEventDestroy", 0, [this] { return cuEventDestroy(forked_); });
  add("cuEventDestroy", 0, [this] { return cuEventDestroy(joined_); });
  add("cuStreamDestroy", 0, [this] { return cuStreamDestroy(main_); });
  add("cuStreamDestroy", 0, [this] { return cuStreamDestroy(side_); });
  add("cuModuleUnload", kWaits, [this] { return cuModuleUnload(module_); });
  add("cuCtxSetCurrent", 0, [] { return cuCtxSetCurrent(nullptr); });
  add("cuDevicePrimaryCtxRelease", 0, [] { return cuDevicePrimaryCtxRelease(0); });
}

void LongProgram::end_memory() {
  for (const CUdeviceptr address : {plain_, other_, word_, pitched_, managed_, async_, pooled_})
    (void)cuMemFree(address);
  (void)cuMemFreeHost(pinned_);
  (void)cuMemFreeHost(mapped_);
  (void)cuMemHostUnregister(registered_.data());
  (void)cuMemPoolDestroy(pool_);
  (void)cuMemUnmap(reserved_, 2 * kBlock);
  while (cuMemRelease(physical_) == CUDA_SUCCESS) {
  }
  (void)cuMemAddressFree(reserved_, 2 * kBlock);
}

void LongProgram::end() {
  (void)cuCtxDestroy(extra_);
  end_graphs();
  (void)cuCtxSynchronize();
  end_memory();
  (void)cuEventDestroy(forked_);
  (void)cuEventDestroy(joined_);
  (void)cuStreamDestroy(main_);
  (void)cuStreamDestroy(side_);
  (void)cuModuleUnload(spare_);
  (void)cuModuleUnload(module_);
  (void)cuCtxSetCurrent(nullptr);
  (void)cuDevicePrimaryCtxRelease(0);
}

}  // namespace twin_test
