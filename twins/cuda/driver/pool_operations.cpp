// cuMemAllocAsync, cuMemFreeAsync and the pools.
#include "cuda/driver/pools.h"

#include <algorithm>
#include <span>

#include "cuda/call.h"
#include "cuda/driver/access.h"
#include "cuda/driver/pool_accounts.h"
#include "cuda/graphs/capture.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

std::uint32_t bit_of(const Device& device) {
  return std::uint32_t{1} << device.ordinal;
}

std::shared_ptr<Pool> make_pool(Device& device, const CUmemPoolProps& props) {
  auto pool = std::make_shared<Pool>();
  pool->device = &device;
  pool->props = props;
  pool->readers = pool->writers = bit_of(device);
  pool->handle = as_handle<CUmemoryPool>(driver().pools.add(pool));
  return pool;
}

std::shared_ptr<Pool> current_pool(Device& device) {
  std::shared_ptr<Pool> usual = default_pool(device);
  const PoolsLock lock = lock_pools();
  return device.current_pool == nullptr ? usual : device.current_pool;
}

CUresult check_props(const CUmemPoolProps* props, Device*& device) {
  if (props == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the properties are null");
  if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      props->win32SecurityAttributes != nullptr)
    return refuse(CUDA_ERROR_INVALID_VALUE, "a pool has pinned memory");
  if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "the twin shares no memory between processes");
  if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "the twin's pools are of devices");
  if (!std::ranges::all_of(props->reserved, [](unsigned char byte) { return byte == 0; }))
    return refuse(CUDA_ERROR_INVALID_VALUE, "reserved bytes are not 0");
  return device_of(props->location.id, device);
}

CUresult allocate_async(CUdeviceptr* address, size_t bytes, const std::shared_ptr<Pool>& pool,
                        Stream& stream) {
  if (address == nullptr)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the address is null");
  if (fault_is_due(Setting::kFailAllocation))
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "CUDA_TWIN_FAIL_ALLOCATION");
  std::shared_ptr<PoolAllocation> memory;
  if (is_capturing(stream)) {
    // It becomes a node, and each launch of the graph begins a use.
    CUDA_TWIN_TRY(reserve_graph_memory(pool, bytes, {}, memory));
    CUDA_TWIN_TRY(submit(stream, AllocateWork{memory}));
  } else {
    CUDA_TWIN_TRY(reserve_memory(pool, bytes, memory));
    CUDA_TWIN_TRY(begin_use(memory, &stream));
    const CUresult submitted = submit(stream, AllocateWork{memory});
    if (submitted != CUDA_SUCCESS) cancel_use(*memory);
    CUDA_TWIN_TRY(submitted);
  }
  *address = memory->address;
  return CUDA_SUCCESS;
}

CUresult free_async(CUdeviceptr address, Stream& stream) {
  const std::shared_ptr<PoolAllocation> memory = pool_allocation_at(address);
  if (memory == nullptr || memory->address != address)
    return refuse(CUDA_ERROR_INVALID_VALUE, "no stream-ordered memory begins at this address");
  // In a capture it becomes a node, and each launch of the graph ends a use.
  if (is_capturing(stream)) return submit(stream, FreeWork{memory, nullptr});
  if (is_freed_by_own_graph(*memory))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the graph that allocates this memory frees it");
  CUDA_TWIN_TRY(end_use(*memory, &stream));
  const CUresult submitted = submit(stream, FreeWork{memory, nullptr});
  if (submitted != CUDA_SUCCESS) cancel_end(memory);
  return submitted;
}

CUresult pool_of(CUmemoryPool handle, std::shared_ptr<Pool>& pool) {
  pool = driver().pools.find(handle);
  return pool == nullptr ? refuse(CUDA_ERROR_INVALID_VALUE, "no pool") : CUDA_SUCCESS;
}

CUresult set_access(Pool& pool, std::span<const CUmemAccessDesc> list) {
  for (const CUmemAccessDesc& each : list) {
    Device* device = nullptr;
    CUDA_TWIN_TRY(access_device(each, *pool.device, device));
    if (device == pool.device && each.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
      return refuse(CUDA_ERROR_INVALID_VALUE, "a pool's own device keeps its access");
  }
  set_access_of_pool(pool, list);
  return CUDA_SUCCESS;
}

}  // namespace

std::shared_ptr<Pool> default_pool(Device& device) {
  const PoolsLock lock = lock_pools();
  if (device.default_pool == nullptr) {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {CU_MEM_LOCATION_TYPE_DEVICE, device.ordinal};
    device.default_pool = make_pool(device, props);
    device.default_pool->is_default = true;
  }
  return device.default_pool;
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream handle) {
  return call_in_stream(__func__, handle, [&](Context& context, Stream& stream) {
    return allocate_async(address, bytes, current_pool(*context.device), stream);
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool_handle,
                                 CUstream handle) {
  return call_in_stream(__func__, handle, [&](Context&, Stream& stream) -> CUresult {
    std::shared_ptr<Pool> pool;
    CUDA_TWIN_TRY(pool_of(pool_handle, pool));
    return allocate_async(address, bytes, pool, stream);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return call_in_stream(__func__, handle,
                        [&](Context&, Stream& stream) { return free_async(address, stream); });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  return call(__func__, [&]() -> CUresult {
    if (pool == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the pool is null");
    Device* device = nullptr;
    CUDA_TWIN_TRY(device_of(ordinal, device));
    *pool = default_pool(*device)->handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  return call(__func__, [&]() -> CUresult {
    if (pool == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the pool is null");
    Device* device = nullptr;
    CUDA_TWIN_TRY(device_of(ordinal, device));
    *pool = current_pool(*device)->handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle) {
  return call(__func__, [&]() -> CUresult {
    Device* device = nullptr;
    CUDA_TWIN_TRY(device_of(ordinal, device));
    std::shared_ptr<Pool> pool;
    CUDA_TWIN_TRY(pool_of(handle, pool));
    if (pool->device != device)
      return refuse(CUDA_ERROR_INVALID_VALUE, "the pool is of another device");
    const PoolsLock lock = lock_pools();
    device->current_pool = pool;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  return call(__func__, [&]() -> CUresult {
    if (pool == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the pool is null");
    Device* device = nullptr;
    CUDA_TWIN_TRY(check_props(props, device));
    *pool = make_pool(*device, *props)->handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return call(__func__, [&]() -> CUresult {
    std::shared_ptr<Pool> pool;
    CUDA_TWIN_TRY(pool_of(handle, pool));
    if (pool->is_default)
      return refuse(CUDA_ERROR_INVALID_VALUE, "a device's default pool cannot be destroyed");
    trim_pool(*pool, 0);
    const PoolsLock lock = lock_pools();
    driver().pools.take(handle);
    if (pool->device->current_pool == pool) pool->device->current_pool = nullptr;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return call(__func__, [&]() -> CUresult {
    std::shared_ptr<Pool> pool;
    CUDA_TWIN_TRY(pool_of(handle, pool));
    if (value == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the value is null");
    return set_pool_attribute(*pool, attribute, value);
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return call(__func__, [&]() -> CUresult {
    std::shared_ptr<Pool> pool;
    CUDA_TWIN_TRY(pool_of(handle, pool));
    if (value == nullptr)
      return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the value is null");
    return get_pool_attribute(*pool, attribute, value);
  });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* map, size_t count) {
  return call(__func__, [&]() -> CUresult {
    std::shared_ptr<Pool> pool;
    CUDA_TWIN_TRY(pool_of(handle, pool));
    if (map == nullptr || count > driver().devices.size())
      return refuse(CUDA_ERROR_INVALID_VALUE, "no list, or more entries than devices");
    return set_access(*pool, {map, count});
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle,
                            CUmemLocation* location) {
  return call(__func__, [&]() -> CUresult {
    std::shared_ptr<Pool> pool;
    CUDA_TWIN_TRY(pool_of(handle, pool));
    if (flags == nullptr || location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
      return refuse(CUDA_ERROR_INVALID_VALUE, "no place for the flags, or no device");
    Device* device = nullptr;
    CUDA_TWIN_TRY(device_of(location->id, device));
    const PoolsLock lock = lock_pools();
    *flags = access_flags(pool->readers, pool->writers, *device);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t bytes) {
  return call(__func__, [&]() -> CUresult {
    std::shared_ptr<Pool> pool;
    CUDA_TWIN_TRY(pool_of(handle, pool));
    trim_pool(*pool, bytes);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
