#include "cuda/driver/virtual_memory.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "cuda/call.h"
#include "cuda/driver/access.h"
#include "cuda/graphs/capture.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

constexpr std::uint64_t kGranularity = std::uint64_t{2} << 20;
constexpr std::uint64_t kPage = 4096;

using VirtualLock = std::unique_lock<std::mutex>;
VirtualLock lock_virtual() {
  return VirtualLock(driver().virtual_mutex);
}

bool is_granular(std::uint64_t value) {
  return value % kGranularity == 0;
}

CUresult check_prop(const CUmemAllocationProp* prop, Device*& device) {
  if (prop == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the properties are null");
  if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->win32HandleMetaData != nullptr)
    return refuse(CUDA_ERROR_INVALID_VALUE, "physical memory is pinned");
  if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "the twin shares no memory between processes");
  if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "the twin's physical memory is of devices");
  return device_of(prop->location.id, device);
}

void forget_if_unused(const Physical& physical) {
  if (physical.references == 0 && physical.mappings == 0) driver().physicals.take(physical.handle);
}

/// Shows the mapping at its address to the devices that have access.
CUresult show(std::uint64_t address, const Mapping& mapping) {
  Space& space = *driver().space;
  if (mapping.readers == 0) {
    space.remove(address);
    return CUDA_SUCCESS;
  }
  auto view = std::make_shared<Extent>(*mapping.physical->storage);
  view->granted = mapping.readers;
  view->read_only = mapping.writers == 0;
  if (space.replace(address, view, mapping.offset, mapping.bytes) == nullptr)
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host could not map the memory");
  return CUDA_SUCCESS;
}

CUresult reserve(CUdeviceptr* address, std::uint64_t bytes, std::uint64_t alignment,
                 CUdeviceptr wish, unsigned long long flags) {
  if (address == nullptr || bytes == 0 || bytes % kPage != 0 || wish % kPage != 0 || flags != 0)
    return refuse(CUDA_ERROR_INVALID_VALUE, "size and wish are whole pages, and flags are 0");
  if (alignment != 0 && !std::has_single_bit(alignment))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the alignment is a power of two, or 0");
  const std::uint64_t at = driver().space->reserve(bytes, std::max(alignment, kGranularity), wish);
  if (at == 0) return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host has no such range of addresses");
  const VirtualLock lock = lock_virtual();
  driver().reservations[at] = std::make_shared<Reservation>(Reservation{bytes, {}});
  *address = at;
  return CUDA_SUCCESS;
}

CUresult unreserve(CUdeviceptr address, std::uint64_t bytes) {
  const VirtualLock lock = lock_virtual();
  const auto at = driver().reservations.find(address);
  if (at == driver().reservations.end() || at->second->bytes != bytes)
    return refuse(CUDA_ERROR_INVALID_VALUE, "no range of this size was reserved there");
  if (!at->second->mappings.empty())
    return refuse(CUDA_ERROR_INVALID_VALUE, "memory is still mapped in the range");
  driver().reservations.erase(at);
  driver().space->unreserve(address, bytes);
  return CUDA_SUCCESS;
}

CUresult create(CUmemGenericAllocationHandle* handle, std::uint64_t bytes,
                const CUmemAllocationProp* prop, unsigned long long flags) {
  if (handle == nullptr || flags != 0)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the handle is null, or flags are not 0");
  Device* device = nullptr;
  CUDA_TWIN_TRY(check_prop(prop, device));
  if (bytes == 0 || !is_granular(bytes))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the size is no multiple of the granularity");
  CUDA_TWIN_TRY(refuse_unsafe_call());
  if (fault_is_due(Setting::kFailAllocation))
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "CUDA_TWIN_FAIL_ALLOCATION");
  if (!charge(*device, bytes)) return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the device is full");
  auto physical = std::make_shared<Physical>();
  physical->device = device;
  physical->bytes = bytes;
  physical->prop = *prop;
  physical->storage = driver().space->create(bytes, device->ordinal);
  if (physical->storage == nullptr)
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory");
  const VirtualLock lock = lock_virtual();
  physical->handle = driver().physicals.add(physical);
  *handle = physical->handle;
  return CUDA_SUCCESS;
}

/// Null, and a reason, for a handle that is none. Needs the lock.
std::shared_ptr<Physical> physical_of(CUmemGenericAllocationHandle handle) {
  std::shared_ptr<Physical> physical = driver().physicals.find(std::uint64_t{handle});
  if (physical != nullptr && physical->references > 0) return physical;
  refuse(CUDA_ERROR_INVALID_VALUE, "no handle of physical memory");
  return nullptr;
}

CUresult map(CUdeviceptr address, std::uint64_t bytes, std::uint64_t offset,
             CUmemGenericAllocationHandle handle, unsigned long long flags) {
  if (bytes == 0 || !is_granular(address | bytes | offset) || flags != 0)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "address, size and offset are multiples of the granularity, and flags are 0");
  CUDA_TWIN_TRY(refuse_unsafe_call());
  const VirtualLock lock = lock_virtual();
  std::shared_ptr<Physical> physical = physical_of(handle);
  if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (offset > physical->bytes || bytes > physical->bytes - offset)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the physical memory has fewer bytes");
  Reservation* const range = reservation_of(address, bytes);
  if (range == nullptr || has_mapping(*range, address, bytes))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the addresses are not reserved, or are mapped");
  ++physical->mappings;
  range->mappings[address] = {bytes, offset, std::move(physical)};
  return CUDA_SUCCESS;
}

CUresult unmap(CUdeviceptr address, std::uint64_t bytes) {
  CUDA_TWIN_TRY(refuse_unsafe_call());
  const VirtualLock lock = lock_virtual();
  Reservation* const range = reservation_of(address, bytes);
  const std::vector<std::uint64_t> list =
      range == nullptr ? std::vector<std::uint64_t>{} : mappings_of(*range, address, bytes);
  if (list.empty()) return refuse(CUDA_ERROR_INVALID_VALUE, "the range is not that of mappings");
  for (const std::uint64_t at : list) {
    const std::shared_ptr<Physical> physical = range->mappings[at].physical;
    driver().space->remove(at);
    range->mappings.erase(at);
    --physical->mappings;
    forget_if_unused(*physical);
  }
  return CUDA_SUCCESS;
}

CUresult set_access(CUdeviceptr address, std::uint64_t bytes,
                    std::span<const CUmemAccessDesc> list) {
  CUDA_TWIN_TRY(refuse_unsafe_call());
  const VirtualLock lock = lock_virtual();
  Reservation* const range = reservation_of(address, bytes);
  const std::vector<std::uint64_t> mappings =
      range == nullptr ? std::vector<std::uint64_t>{} : mappings_of(*range, address, bytes);
  if (mappings.empty()) return refuse(CUDA_ERROR_INVALID_VALUE, "the range is not fully mapped");
  for (const std::uint64_t at : mappings)
    for (const CUmemAccessDesc& each : list) {
      Device* device = nullptr;
      CUDA_TWIN_TRY(access_device(each, *range->mappings[at].physical->device, device));
    }
  for (const std::uint64_t at : mappings) {
    Mapping& mapping = range->mappings[at];
    for (const CUmemAccessDesc& each : list)
      set_access_bits(each, mapping.readers, mapping.writers);
    CUDA_TWIN_TRY(show(at, mapping));
  }
  return CUDA_SUCCESS;
}

}  // namespace

Physical::~Physical() {
  if (device != nullptr) refund(*device, bytes);
}

std::size_t count_reserved_ranges() {
  const VirtualLock lock = lock_virtual();
  return driver().reservations.size();
}

void drop_virtual_memory() {
  const VirtualLock lock = lock_virtual();
  for (const auto& [begin, range] : driver().reservations) {
    for (const auto& [at, mapping] : range->mappings) driver().space->remove(at);
    driver().space->unreserve(begin, range->bytes);
  }
  driver().reservations.clear();
  driver().physicals.clear();
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr wish,
                             unsigned long long flags) {
  return call(__func__, [&] { return reserve(address, bytes, alignment, wish, flags); });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return call(__func__, [&] { return unreserve(address, bytes); });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
  return call(__func__, [&] { return create(handle, bytes, prop, flags); });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return call(__func__, [&]() -> CUresult {
    CUDA_TWIN_TRY(refuse_unsafe_call());
    const VirtualLock lock = lock_virtual();
    const std::shared_ptr<Physical> physical = physical_of(handle);
    if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
    --physical->references;
    forget_if_unused(*physical);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return call(__func__, [&]() -> CUresult {
    if (handle == nullptr)
      return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the handle is null");
    const VirtualLock lock = lock_virtual();
    const Mapping* const mapping = mapping_at(reinterpret_cast<std::uint64_t>(address));
    if (mapping == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "nothing is mapped there");
    ++mapping->physical->references;
    *handle = mapping->physical->handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return call(__func__, [&] { return cuda_twin::map(address, bytes, offset, handle, flags); });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return call(__func__, [&] { return cuda_twin::unmap(address, bytes); });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* desc,
                        size_t count) {
  return call(__func__, [&]() -> CUresult {
    if (desc == nullptr || count == 0 || count > driver().devices.size())
      return refuse(CUDA_ERROR_INVALID_VALUE, "no list, or more entries than devices");
    return set_access(address, bytes, {desc, count});
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr address) {
  return call(__func__, [&]() -> CUresult {
    if (flags == nullptr || location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
      return refuse(CUDA_ERROR_INVALID_VALUE, "no place for the flags, or no device");
    Device* device = nullptr;
    CUDA_TWIN_TRY(device_of(location->id, device));
    const VirtualLock lock = lock_virtual();
    const Mapping* const mapping = mapping_at(address);
    if (mapping == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "nothing is mapped there");
    *flags = access_flags(mapping->readers, mapping->writers, *device);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
  return call(__func__, [&]() -> CUresult {
    if (granularity == nullptr ||
        static_cast<unsigned>(option) > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
      return refuse(CUDA_ERROR_INVALID_VALUE, "no place for the granularity, or unknown option");
    Device* device = nullptr;
    CUDA_TWIN_TRY(check_prop(prop, device));
    *granularity = kGranularity;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
  return call(__func__, [&]() -> CUresult {
    if (prop == nullptr)
      return refuse(CUDA_ERROR_INVALID_VALUE, "the place for the properties is null");
    const VirtualLock lock = lock_virtual();
    const std::shared_ptr<Physical> physical = physical_of(handle);
    if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *prop = physical->prop;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
