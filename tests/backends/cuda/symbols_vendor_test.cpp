// The declarations of the driver library against the vendor's header, where that is installed.
#include "backends/cuda/symbols.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <type_traits>

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

namespace shunt::cuda::symbols_vendor_test {
namespace {

#ifdef CUDA_VERSION

template <class T, class... Others>
constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);
template <class Ours, class Vendors>
constexpr bool is_handle =
    is_one_of<Ours, ContextHandle, ModuleHandle, FunctionHandle, StreamHandle, EventHandle> ||
    is_one_of<Vendors, CUcontext, CUmodule, CUfunction, CUstream, CUevent>;
template <class Ours, class Vendors>
constexpr bool is_same_handle =
    (std::is_same_v<Ours, ContextHandle> && std::is_same_v<Vendors, CUcontext>) ||
    (std::is_same_v<Ours, ModuleHandle> && std::is_same_v<Vendors, CUmodule>) ||
    (std::is_same_v<Ours, FunctionHandle> && std::is_same_v<Vendors, CUfunction>) ||
    (std::is_same_v<Ours, StreamHandle> && std::is_same_v<Vendors, CUstream>) ||
    (std::is_same_v<Ours, EventHandle> && std::is_same_v<Vendors, CUevent>);

/// Whether two types are passed alike: the same handle, numbers of one kind and size, or pointers
/// to such. The order of two integers of one size is not seen.
template <class Ours, class Vendors>
constexpr bool alike() {
  if constexpr (is_handle<Ours, Vendors>) {
    return is_same_handle<Ours, Vendors>;
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Vendors>) {
    using To = std::remove_pointer_t<Ours>;
    using VendorsTo = std::remove_pointer_t<Vendors>;
    if constexpr (std::is_const_v<To> != std::is_const_v<VendorsTo> ||
                  std::is_void_v<To> != std::is_void_v<VendorsTo>) {
      return false;
    } else if constexpr (std::is_void_v<To>) {
      return true;
    } else {
      return alike<std::remove_const_t<To>, std::remove_const_t<VendorsTo>>();
    }
  } else {
    return std::is_pointer_v<Ours> == std::is_pointer_v<Vendors> &&
           std::is_class_v<Ours> == std::is_class_v<Vendors> &&
           std::is_floating_point_v<Ours> == std::is_floating_point_v<Vendors> &&
           sizeof(Ours) == sizeof(Vendors);
  }
}

template <class Ours, class Vendors>
struct SameCall : std::false_type {};
template <class R, class... Args, class VendorsR, class... VendorsArgs>
requires(sizeof...(Args) ==
         sizeof...(VendorsArgs)) struct SameCall<R (*)(Args...), VendorsR(VendorsArgs...)>
    : std::bool_constant<alike<R, VendorsR>() && (alike<Args, VendorsArgs>() && ...)> {
};

struct Function {
  const char* name;                        ///< in the vendor's header
  bool same;                               ///< the member has the function's arguments
  void* (*value)(const Symbols& symbols);  ///< of the member
};

template <auto Member, class Vendors>
Function compare(const char* name) {
  using Ours = typename MemberPointer<decltype(Member)>::Type;
  return {name, SameCall<Ours, Vendors>::value,
          [](const Symbols& symbols) { return reinterpret_cast<void*>(symbols.*Member); }};
}
#define FUNCTION(member, name) compare<&Symbols::member, decltype(::name)>(#name)

// cuda.h may declare an older name as a macro for a newer function: of the same arguments here.
const Function kFunctions[] = {
    FUNCTION(init, cuInit),
    FUNCTION(driver_get_version, cuDriverGetVersion),
    FUNCTION(get_error_name, cuGetErrorName),
    FUNCTION(get_error_string, cuGetErrorString),
    FUNCTION(device_get_count, cuDeviceGetCount),
    FUNCTION(device_get, cuDeviceGet),
    FUNCTION(device_get_name, cuDeviceGetName),
    FUNCTION(device_total_mem, cuDeviceTotalMem_v2),
    FUNCTION(device_get_attribute, cuDeviceGetAttribute),
    FUNCTION(device_get_pci_bus_id, cuDeviceGetPCIBusId),
    FUNCTION(device_primary_ctx_retain, cuDevicePrimaryCtxRetain),
    FUNCTION(device_primary_ctx_release, cuDevicePrimaryCtxRelease_v2),
    FUNCTION(ctx_push_current, cuCtxPushCurrent_v2),
    FUNCTION(ctx_pop_current, cuCtxPopCurrent_v2),
    // Newer headers declare another form.
    compare<&Symbols::ctx_create, CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2"),
    FUNCTION(ctx_destroy, cuCtxDestroy_v2),
    FUNCTION(ctx_get_limit, cuCtxGetLimit),
    FUNCTION(ctx_set_limit, cuCtxSetLimit),
    FUNCTION(mem_get_info, cuMemGetInfo_v2),
    FUNCTION(mem_alloc, cuMemAlloc_v2),
    FUNCTION(mem_free, cuMemFree_v2),
    FUNCTION(mem_alloc_managed, cuMemAllocManaged),
    FUNCTION(mem_granularity, cuMemGetAllocationGranularity),
    FUNCTION(mem_address_reserve, cuMemAddressReserve),
    FUNCTION(mem_address_free, cuMemAddressFree),
    FUNCTION(mem_create, cuMemCreate),
    FUNCTION(mem_release, cuMemRelease),
    FUNCTION(mem_map, cuMemMap),
    FUNCTION(mem_unmap, cuMemUnmap),
    FUNCTION(mem_set_access, cuMemSetAccess),
    FUNCTION(device_can_access_peer, cuDeviceCanAccessPeer),
    FUNCTION(ctx_enable_peer_access, cuCtxEnablePeerAccess),
    FUNCTION(mem_host_alloc, cuMemHostAlloc),
    FUNCTION(mem_free_host, cuMemFreeHost),
    FUNCTION(memcpy_to_device, cuMemcpyHtoDAsync_v2),
    FUNCTION(memcpy_to_host, cuMemcpyDtoHAsync_v2),
    FUNCTION(memcpy_on_device, cuMemcpyDtoDAsync_v2),
    FUNCTION(memcpy_2d, cuMemcpy2DAsync_v2),
    FUNCTION(memset_bytes, cuMemsetD8Async),
    FUNCTION(module_load_data, cuModuleLoadDataEx),
    FUNCTION(module_unload, cuModuleUnload),
    FUNCTION(module_get_function, cuModuleGetFunction),
    FUNCTION(func_get_attribute, cuFuncGetAttribute),
    FUNCTION(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor),
    FUNCTION(pointer_get_attribute, cuPointerGetAttribute),
    FUNCTION(launch_kernel, cuLaunchKernel),
    FUNCTION(stream_create, cuStreamCreate),
    FUNCTION(stream_destroy, cuStreamDestroy_v2),
    FUNCTION(stream_synchronize, cuStreamSynchronize),
    FUNCTION(stream_query, cuStreamQuery),
    FUNCTION(stream_wait_event, cuStreamWaitEvent),
    FUNCTION(event_create, cuEventCreate),
    FUNCTION(event_record, cuEventRecord),
    FUNCTION(event_query, cuEventQuery),
    FUNCTION(event_elapsed_time, cuEventElapsedTime),
    FUNCTION(event_destroy, cuEventDestroy_v2),
};
#undef FUNCTION

struct Number {
  const char* name;
  long long ours, vendors;
};
template <class Ours, class Vendors>
Number compare(const char* name, Ours ours, Vendors vendors) {
  return {name, static_cast<long long>(ours), static_cast<long long>(vendors)};
}
#define NUMBER(ours, vendors) compare(#vendors, ours, vendors)
#define SIZE(ours, vendors) NUMBER(sizeof(ours), sizeof(vendors))
#define OFFSET(ours, member, vendors, vendors_member) \
  NUMBER(offsetof(ours, member), offsetof(vendors, vendors_member))

const Number kNumbers[] = {
    NUMBER(kSuccess, CUDA_SUCCESS),
    NUMBER(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY),
    NUMBER(kDeinitialized, CUDA_ERROR_DEINITIALIZED),
    NUMBER(kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE),
    NUMBER(kNoDevice, CUDA_ERROR_NO_DEVICE),
    NUMBER(kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE),
    NUMBER(kNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE),
    NUMBER(kInvalidPtx, CUDA_ERROR_INVALID_PTX),
    NUMBER(kNoPtxCompiler, CUDA_ERROR_JIT_COMPILER_NOT_FOUND),
    NUMBER(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION),
    NUMBER(kPtxCompilerDisabled, CUDA_ERROR_JIT_COMPILATION_DISABLED),
    NUMBER(kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM),
    NUMBER(kNotReady, CUDA_ERROR_NOT_READY),
    NUMBER(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS),
    NUMBER(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT),
    NUMBER(kPeerAccessEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED),
    NUMBER(kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED),
    NUMBER(kAssert, CUDA_ERROR_ASSERT),
    NUMBER(kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR),
    NUMBER(kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION),
    NUMBER(kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS),
    NUMBER(kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE),
    NUMBER(kInvalidProgramCounter, CUDA_ERROR_INVALID_PC),
    NUMBER(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED),
    NUMBER(kNotPermitted, CUDA_ERROR_NOT_PERMITTED),
    NUMBER(kNotSupported, CUDA_ERROR_NOT_SUPPORTED),
    NUMBER(kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY),
    NUMBER(kDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH),
    NUMBER(kCompatNotSupported, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE),
    NUMBER(kMpsConnectionFailed, CUDA_ERROR_MPS_CONNECTION_FAILED),
    NUMBER(kMpsClientTerminated, CUDA_ERROR_MPS_CLIENT_TERMINATED),
#if CUDA_VERSION >= 13000
    NUMBER(kContained, CUDA_ERROR_CONTAINED),
    NUMBER(kTensorMemoryLeak, CUDA_ERROR_TENSOR_MEMORY_LEAK),
#endif
    NUMBER(kClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
    NUMBER(kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
    NUMBER(kIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED),
    NUMBER(kMemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
    NUMBER(kMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
    NUMBER(kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
    NUMBER(kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
    NUMBER(kConcurrentManagedAccess, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS),
    NUMBER(kVirtualMemory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED),
    NUMBER(kStreamNonBlocking, CU_STREAM_NON_BLOCKING),
    NUMBER(kEventBlockingSync, CU_EVENT_BLOCKING_SYNC),
    NUMBER(kEventDisableTiming, CU_EVENT_DISABLE_TIMING),
    NUMBER(kHostPortable, CU_MEMHOSTALLOC_PORTABLE),
    NUMBER(kHostMapped, CU_MEMHOSTALLOC_DEVICEMAP),
    NUMBER(kAttachGlobal, CU_MEM_ATTACH_GLOBAL),
    NUMBER(kLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
    NUMBER(kStackSize, CU_LIMIT_STACK_SIZE),
    NUMBER(kRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS),
    NUMBER(kMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE),
    NUMBER(kErrorLog, CU_JIT_ERROR_LOG_BUFFER),
    NUMBER(kErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES),
    NUMBER(kHostKind, CU_MEMORYTYPE_HOST),
    NUMBER(kDeviceKind, CU_MEMORYTYPE_DEVICE),
    NUMBER(kOnDevice, CU_MEM_LOCATION_TYPE_DEVICE),
    NUMBER(kReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
    NUMBER(MemoryProperties{}.kind, CU_MEM_ALLOCATION_TYPE_PINNED),
    SIZE(Copy2d, CUDA_MEMCPY2D),
    OFFSET(Copy2d, from_x, CUDA_MEMCPY2D, srcXInBytes),
    OFFSET(Copy2d, from_y, CUDA_MEMCPY2D, srcY),
    OFFSET(Copy2d, from_kind, CUDA_MEMCPY2D, srcMemoryType),
    OFFSET(Copy2d, from_host, CUDA_MEMCPY2D, srcHost),
    OFFSET(Copy2d, from_device, CUDA_MEMCPY2D, srcDevice),
    OFFSET(Copy2d, from_array, CUDA_MEMCPY2D, srcArray),
    OFFSET(Copy2d, from_pitch, CUDA_MEMCPY2D, srcPitch),
    OFFSET(Copy2d, to_x, CUDA_MEMCPY2D, dstXInBytes),
    OFFSET(Copy2d, to_y, CUDA_MEMCPY2D, dstY),
    OFFSET(Copy2d, to_kind, CUDA_MEMCPY2D, dstMemoryType),
    OFFSET(Copy2d, to_host, CUDA_MEMCPY2D, dstHost),
    OFFSET(Copy2d, to_device, CUDA_MEMCPY2D, dstDevice),
    OFFSET(Copy2d, to_array, CUDA_MEMCPY2D, dstArray),
    OFFSET(Copy2d, to_pitch, CUDA_MEMCPY2D, dstPitch),
    OFFSET(Copy2d, bytes, CUDA_MEMCPY2D, WidthInBytes),
    OFFSET(Copy2d, rows, CUDA_MEMCPY2D, Height),
    SIZE(MemoryLocation, CUmemLocation),
    OFFSET(MemoryLocation, kind, CUmemLocation, type),
    OFFSET(MemoryLocation, device, CUmemLocation, id),
    SIZE(MemoryProperties, CUmemAllocationProp),
    OFFSET(MemoryProperties, kind, CUmemAllocationProp, type),
    OFFSET(MemoryProperties, handle_kinds, CUmemAllocationProp, requestedHandleTypes),
    OFFSET(MemoryProperties, location, CUmemAllocationProp, location),
    OFFSET(MemoryProperties, windows_data, CUmemAllocationProp, win32HandleMetaData),
    OFFSET(MemoryProperties, flags, CUmemAllocationProp, allocFlags),
    SIZE(MemoryAccess, CUmemAccessDesc),
    OFFSET(MemoryAccess, location, CUmemAccessDesc, location),
    OFFSET(MemoryAccess, access, CUmemAccessDesc, flags),
};
#undef NUMBER
#undef SIZE
#undef OFFSET

TEST(CudaSymbols, FunctionsHaveTheArgumentsOfTheVendorsHeader) {
  EXPECT_EQ(std::size(kFunctions), symbol_rows().size());
  for (const Function& function : kFunctions) {
    EXPECT_TRUE(function.same) << function.name;
    const auto row = std::ranges::find_if(symbol_rows(), [&](const auto& each) {
      return std::string_view(each.name) == function.name;
    });
    ASSERT_NE(row, symbol_rows().end()) << function.name;
    int address = 0;
    Symbols symbols;
    row->set(symbols, &address);
    EXPECT_EQ(function.value(symbols), &address) << function.name << " is bound to another member";
  }
}

TEST(CudaSymbols, NumbersSizesAndOffsetsAreThoseOfTheVendorsHeader) {
  for (const Number& number : kNumbers) EXPECT_EQ(number.ours, number.vendors) << number.name;
}

#else

TEST(CudaSymbols, MatchTheVendorsHeader) {
  GTEST_SKIP() << "cuda.h is not installed";
}

#endif

}  // namespace
}  // namespace shunt::cuda::symbols_vendor_test
