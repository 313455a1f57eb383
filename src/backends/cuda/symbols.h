// The part of NVIDIA's driver library that is used, declared as its public documentation has it.
// Bound by name when the library is opened: no header or toolkit of NVIDIA's is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend_support/symbol_table.h"

namespace shunt::cuda {

/// CUresult.
using Status32 = int;
/// CUdevice: the number of a device.
using DeviceNumber = int;
/// CUdeviceptr: an address in a device's memory.
using DevicePointer = std::uint64_t;
using ContextHandle = struct CUctx_st*;
using ModuleHandle = struct CUmod_st*;
using FunctionHandle = struct CUfunc_st*;
using StreamHandle = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
/// CUmemGenericAllocationHandle: memory that has no address yet.
using MemoryHandle = std::uint64_t;

/// CUresult, those that are handled.
enum : Status32 {
  kSuccess = 0,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kEccUncorrectable = 214,
  kNvlinkUncorrectable = 220,
  kInvalidPtx = 218,
  kNoPtxCompiler = 221,
  kUnsupportedPtxVersion = 222,
  kPtxCompilerDisabled = 223,
  kContained = 226,
  kOperatingSystem = 304,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kPeerAccessEnabled = 704,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidProgramCounter = 718,
  kLaunchFailed = 719,
  kTensorMemoryLeak = 721,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemNotReady = 802,
  kDriverMismatch = 803,
  kCompatNotSupported = 804,
  kMpsConnectionFailed = 805,
  kMpsClientTerminated = 810,
  kUnknown = 999,
};

/// CUdevice_attribute.
enum Attribute : int {
  kClockRate = 13,  // kHz
  kMultiprocessors = 16,
  kIntegrated = 18,
  kMemoryClockRate = 36,  // kHz
  kMemoryBusWidth = 37,   // bits
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kConcurrentManagedAccess = 89,
  kVirtualMemory = 102,
};

/// Flags of functions.
enum : unsigned {
  kStreamNonBlocking = 1,
  kEventBlockingSync = 1,
  kEventDisableTiming = 2,
  kHostPortable = 1,
  kHostMapped = 2,
  kAttachGlobal = 1,
};

/// CUfunction_attribute.
enum FunctionAttribute : int { kLocalBytes = 3, kRegisters = 4 };

/// CUlimit.
enum Limit : int { kStackSize = 0 };

/// CUpointer_attribute.
enum PointerAttribute : int { kMemoryType = 2 };

/// CUjit_option.
enum JitOption : unsigned { kErrorLog = 5, kErrorLogBytes = 6 };

/// CUmemorytype, as a copy has it.
enum CopyEnd : unsigned { kHostKind = 1, kDeviceKind = 2 };

/// CUDA_MEMCPY2D.
struct Copy2d {
  std::size_t from_x = 0, from_y = 0;
  CopyEnd from_kind = kHostKind;
  const void* from_host = nullptr;
  DevicePointer from_device = 0;
  void* from_array = nullptr;
  std::size_t from_pitch = 0;
  std::size_t to_x = 0, to_y = 0;
  CopyEnd to_kind = kDeviceKind;
  void* to_host = nullptr;
  DevicePointer to_device = 0;
  void* to_array = nullptr;
  std::size_t to_pitch = 0;
  std::size_t bytes = 0, rows = 0;
};
static_assert(sizeof(Copy2d) == 128);

/// CUmemLocation.
enum LocationKind : unsigned { kOnDevice = 1 };
struct MemoryLocation {
  LocationKind kind = kOnDevice;
  DeviceNumber device = 0;
};
/// CUmemAllocationProp.
struct MemoryProperties {
  unsigned kind = 1;  ///< pinned: the only one
  unsigned handle_kinds = 0;
  MemoryLocation location;
  void* windows_data = nullptr;
  unsigned char flags[8] = {};
};
static_assert(sizeof(MemoryProperties) == 32);
/// CUmemAccessDesc.
enum AccessKind : unsigned { kReadWrite = 3 };
struct MemoryAccess {
  MemoryLocation location;
  AccessKind access = kReadWrite;
};
static_assert(sizeof(MemoryAccess) == 12);

/// The functions, named as the library names them, without the prefix. Null where a library lacks
/// one that is optional.
struct Symbols {
  Status32 (*init)(unsigned flags) = nullptr;
  Status32 (*driver_get_version)(int*) = nullptr;
  Status32 (*get_error_name)(Status32, const char**) = nullptr;
  Status32 (*get_error_string)(Status32, const char**) = nullptr;
  Status32 (*device_get_count)(int*) = nullptr;
  Status32 (*device_get)(DeviceNumber*, int ordinal) = nullptr;
  Status32 (*device_get_name)(char*, int bytes, DeviceNumber) = nullptr;
  Status32 (*device_total_mem)(std::size_t*, DeviceNumber) = nullptr;
  Status32 (*device_get_attribute)(int*, int attribute, DeviceNumber) = nullptr;
  Status32 (*device_get_pci_bus_id)(char*, int bytes, DeviceNumber) = nullptr;
  Status32 (*device_primary_ctx_retain)(ContextHandle*, DeviceNumber) = nullptr;
  Status32 (*device_primary_ctx_release)(DeviceNumber) = nullptr;
  Status32 (*ctx_push_current)(ContextHandle) = nullptr;
  Status32 (*ctx_pop_current)(ContextHandle*) = nullptr;
  Status32 (*ctx_create)(ContextHandle*, unsigned flags, DeviceNumber) = nullptr;
  Status32 (*ctx_destroy)(ContextHandle) = nullptr;
  Status32 (*ctx_get_limit)(std::size_t*, Limit) = nullptr;
  Status32 (*ctx_set_limit)(Limit, std::size_t) = nullptr;
  Status32 (*mem_get_info)(std::size_t* free, std::size_t* total) = nullptr;
  Status32 (*mem_alloc)(DevicePointer*, std::size_t) = nullptr;
  Status32 (*mem_free)(DevicePointer) = nullptr;
  Status32 (*mem_alloc_managed)(DevicePointer*, std::size_t, unsigned flags) = nullptr;
  Status32 (*mem_granularity)(std::size_t*, const MemoryProperties*, unsigned) = nullptr;
  Status32 (*mem_address_reserve)(DevicePointer*, std::size_t, std::size_t alignment, DevicePointer,
                                  std::uint64_t flags) = nullptr;
  Status32 (*mem_address_free)(DevicePointer, std::size_t) = nullptr;
  Status32 (*mem_create)(MemoryHandle*, std::size_t, const MemoryProperties*,
                         std::uint64_t flags) = nullptr;
  Status32 (*mem_release)(MemoryHandle) = nullptr;
  Status32 (*mem_map)(DevicePointer, std::size_t, std::size_t offset, MemoryHandle,
                      std::uint64_t flags) = nullptr;
  Status32 (*mem_unmap)(DevicePointer, std::size_t) = nullptr;
  Status32 (*mem_set_access)(DevicePointer, std::size_t, const MemoryAccess*,
                             std::size_t) = nullptr;
  Status32 (*device_can_access_peer)(int*, DeviceNumber, DeviceNumber) = nullptr;
  Status32 (*ctx_enable_peer_access)(ContextHandle, unsigned flags) = nullptr;
  Status32 (*mem_host_alloc)(void**, std::size_t, unsigned flags) = nullptr;
  Status32 (*mem_free_host)(void*) = nullptr;
  Status32 (*memcpy_to_device)(DevicePointer, const void*, std::size_t, StreamHandle) = nullptr;
  Status32 (*memcpy_to_host)(void*, DevicePointer, std::size_t, StreamHandle) = nullptr;
  Status32 (*memcpy_on_device)(DevicePointer, DevicePointer, std::size_t, StreamHandle) = nullptr;
  Status32 (*memcpy_2d)(const Copy2d*, StreamHandle) = nullptr;
  Status32 (*memset_bytes)(DevicePointer, unsigned char, std::size_t, StreamHandle) = nullptr;
  Status32 (*module_load_data)(ModuleHandle*, const void*, unsigned, JitOption*, void**) = nullptr;
  Status32 (*module_unload)(ModuleHandle) = nullptr;
  Status32 (*module_get_function)(FunctionHandle*, ModuleHandle, const char*) = nullptr;
  Status32 (*func_get_attribute)(int*, FunctionAttribute, FunctionHandle) = nullptr;
  Status32 (*occupancy)(int* blocks, FunctionHandle, int threads, std::size_t shared) = nullptr;
  Status32 (*pointer_get_attribute)(void*, PointerAttribute, DevicePointer) = nullptr;
  Status32 (*launch_kernel)(FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, unsigned shared, StreamHandle, void** parameters,
                            void** extra) = nullptr;
  Status32 (*stream_create)(StreamHandle*, unsigned flags) = nullptr;
  Status32 (*stream_destroy)(StreamHandle) = nullptr;
  Status32 (*stream_synchronize)(StreamHandle) = nullptr;
  Status32 (*stream_query)(StreamHandle) = nullptr;
  Status32 (*stream_wait_event)(StreamHandle, EventHandle, unsigned flags) = nullptr;
  Status32 (*event_create)(EventHandle*, unsigned flags) = nullptr;
  Status32 (*event_record)(EventHandle, StreamHandle) = nullptr;
  Status32 (*event_query)(EventHandle) = nullptr;
  Status32 (*event_elapsed_time)(float* milliseconds, EventHandle, EventHandle) = nullptr;
  Status32 (*event_destroy)(EventHandle) = nullptr;
};

/// Features of which a driver may lack functions.
inline constexpr const char* kVirtualMemoryFeature = "virtual memory";
inline constexpr const char* kManagedMemoryFeature = "managed memory";
inline constexpr const char* kPeersFeature = "direct copies between devices";

std::span<const SymbolRow<Symbols>> symbol_rows();
/// The name of a function: for messages.
template <auto Function>
const char* name_of() {
  return shunt::name_of<Function>(symbol_rows());
}

}  // namespace shunt::cuda
