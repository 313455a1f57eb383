#include "backends/cuda/symbols.h"

#include <array>

namespace shunt::cuda {

namespace {

constexpr std::array kSymbolTable = {
    symbol<&Symbols::init>("cuInit"),
    symbol<&Symbols::driver_get_version>("cuDriverGetVersion"),
    symbol<&Symbols::get_error_name>("cuGetErrorName"),
    symbol<&Symbols::get_error_string>("cuGetErrorString"),
    symbol<&Symbols::device_get_count>("cuDeviceGetCount"),
    symbol<&Symbols::device_get>("cuDeviceGet"),
    symbol<&Symbols::device_get_name>("cuDeviceGetName"),
    symbol<&Symbols::device_total_mem>("cuDeviceTotalMem_v2"),
    symbol<&Symbols::device_get_attribute>("cuDeviceGetAttribute"),
    symbol<&Symbols::device_get_pci_bus_id>("cuDeviceGetPCIBusId"),
    symbol<&Symbols::device_primary_ctx_retain>("cuDevicePrimaryCtxRetain"),
    symbol<&Symbols::device_primary_ctx_release>("cuDevicePrimaryCtxRelease_v2"),
    symbol<&Symbols::ctx_push_current>("cuCtxPushCurrent_v2"),
    symbol<&Symbols::ctx_pop_current>("cuCtxPopCurrent_v2"),
    symbol<&Symbols::ctx_create>("cuCtxCreate_v2"),
    symbol<&Symbols::ctx_destroy>("cuCtxDestroy_v2"),
    symbol<&Symbols::ctx_get_limit>("cuCtxGetLimit"),
    symbol<&Symbols::ctx_set_limit>("cuCtxSetLimit"),
    symbol<&Symbols::mem_get_info>("cuMemGetInfo_v2"),
    symbol<&Symbols::mem_alloc>("cuMemAlloc_v2"),
    symbol<&Symbols::mem_free>("cuMemFree_v2"),
    symbol<&Symbols::mem_alloc_managed>("cuMemAllocManaged", "6.0", kManagedMemoryFeature),
    symbol<&Symbols::mem_granularity>("cuMemGetAllocationGranularity", "10.2",
                                      kVirtualMemoryFeature),
    symbol<&Symbols::mem_address_reserve>("cuMemAddressReserve", "10.2", kVirtualMemoryFeature),
    symbol<&Symbols::mem_address_free>("cuMemAddressFree", "10.2", kVirtualMemoryFeature),
    symbol<&Symbols::mem_create>("cuMemCreate", "10.2", kVirtualMemoryFeature),
    symbol<&Symbols::mem_release>("cuMemRelease", "10.2", kVirtualMemoryFeature),
    symbol<&Symbols::mem_map>("cuMemMap", "10.2", kVirtualMemoryFeature),
    symbol<&Symbols::mem_unmap>("cuMemUnmap", "10.2", kVirtualMemoryFeature),
    symbol<&Symbols::mem_set_access>("cuMemSetAccess", "10.2", kVirtualMemoryFeature),
    symbol<&Symbols::device_can_access_peer>("cuDeviceCanAccessPeer", "4.0", kPeersFeature),
    symbol<&Symbols::ctx_enable_peer_access>("cuCtxEnablePeerAccess", "4.0", kPeersFeature),
    symbol<&Symbols::mem_host_alloc>("cuMemHostAlloc"),
    symbol<&Symbols::mem_free_host>("cuMemFreeHost"),
    symbol<&Symbols::memcpy_to_device>("cuMemcpyHtoDAsync_v2"),
    symbol<&Symbols::memcpy_to_host>("cuMemcpyDtoHAsync_v2"),
    symbol<&Symbols::memcpy_on_device>("cuMemcpyDtoDAsync_v2"),
    symbol<&Symbols::memcpy_2d>("cuMemcpy2DAsync_v2"),
    symbol<&Symbols::memset_bytes>("cuMemsetD8Async"),
    symbol<&Symbols::module_load_data>("cuModuleLoadDataEx"),
    symbol<&Symbols::module_unload>("cuModuleUnload"),
    symbol<&Symbols::module_get_function>("cuModuleGetFunction"),
    symbol<&Symbols::func_get_attribute>("cuFuncGetAttribute"),
    symbol<&Symbols::occupancy>("cuOccupancyMaxActiveBlocksPerMultiprocessor"),
    symbol<&Symbols::pointer_get_attribute>("cuPointerGetAttribute"),
    symbol<&Symbols::launch_kernel>("cuLaunchKernel"),
    symbol<&Symbols::stream_create>("cuStreamCreate"),
    symbol<&Symbols::stream_destroy>("cuStreamDestroy_v2"),
    symbol<&Symbols::stream_synchronize>("cuStreamSynchronize"),
    symbol<&Symbols::stream_query>("cuStreamQuery"),
    symbol<&Symbols::stream_wait_event>("cuStreamWaitEvent"),
    symbol<&Symbols::event_create>("cuEventCreate"),
    symbol<&Symbols::event_record>("cuEventRecord"),
    symbol<&Symbols::event_query>("cuEventQuery"),
    symbol<&Symbols::event_elapsed_time>("cuEventElapsedTime"),
    symbol<&Symbols::event_destroy>("cuEventDestroy_v2"),
};

}  // namespace

std::span<const SymbolRow<Symbols>> symbol_rows() {
  return kSymbolTable;
}

}  // namespace shunt::cuda
