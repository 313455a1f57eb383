// Reserved addresses, physical memory, and the one mapped into the other.
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "ascend/include/acl/acl_runtime.h"
#include "ascend/memory/space.h"
#include "ascend/profiles.h"
#include "ascend/resets.h"
#include "ascend/runtime/devices.h"
#include "ascend/runtime/handles.h"
#include "ascend/strict/watch.h"

namespace ascend_twin {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

/// Memory of a device without an address. It goes when its handle is freed and nothing maps it.
struct Physical {
  std::int32_t device = 0;
  std::uint64_t bytes = 0;
  std::shared_ptr<Block> block;
  std::shared_ptr<Written> written;
};

/// Two ranges of addresses of one size: one that is handed out and cannot be touched, and the
/// twin's own.
struct Reservation {
  std::shared_ptr<Range> range;
  struct Mapping {
    std::shared_ptr<Physical> physical;
    std::uint64_t offset = 0;
  };
  std::map<std::uint64_t, Mapping> mappings;  ///< by offset
};

struct Addresses {
  void* handed_out = nullptr;
  void* working = nullptr;
};

struct Virtual {
  std::mutex mutex;
  std::map<std::uintptr_t, Reservation> reservations;
  /// Released, by size. They are not given back to the system: an old address stays a device's.
  std::multimap<std::uint64_t, Addresses> spare;
  Handles<Physical> physical;
};
Virtual& virtual_memory() {
  static auto* state = new Virtual;  // no destructor runs at exit
  return *state;
}

Status check_chip() {
  if (profile() == nullptr || !profile()->has_virtual_memory)
    return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this chip has no virtual memory");
  return ACL_SUCCESS;
}

bool is_in_big_pages(aclrtMemAttr attribute) {
  constexpr int kHuge1G = 14, kP2PHuge1G = 17;
  return attribute == ACL_HBM_MEM_HUGE1G || attribute == ACL_HBM_MEM_P2P_HUGE1G ||
         attribute == kHuge1G || attribute == kP2PHuge1G;
}

std::uint64_t granularity_of(aclrtMemAttr attribute) {
  return is_in_big_pages(attribute) ? kGiB : profile()->granularity;
}

Status check_properties(const aclrtPhysicalMemProp* properties) {
  constexpr int kLast = 17;
  if (properties == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the properties are null");
  if (properties->handleType != ACL_MEM_HANDLE_TYPE_NONE ||
      properties->allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED)
    return refuse(ACL_ERROR_INVALID_PARAM, "a type of handle or allocation that there is not");
  if (properties->memAttr < ACL_DDR_MEM || properties->memAttr > kLast)
    return refuse(ACL_ERROR_INVALID_PARAM,
                  "memory attribute " + std::to_string(properties->memAttr));
  if (properties->location.type != ACL_MEM_LOCATION_TYPE_DEVICE)
    return refuse(ACL_ERROR_INVALID_PARAM, "the location is no device");
  std::shared_ptr<Device> device;
  return find_device(properties->location.id, &device);
}

Status check_fault() {
  if (fault_is_due(Setting::kFailVirtualMemory))
    return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "no memory, as the fault asks");
  return ACL_SUCCESS;
}

/// Two ranges of addresses, whose handed-out one is a multiple of the granularity.
Addresses take_addresses(std::uint64_t size) {
  if (const auto spare = virtual_memory().spare.find(size); spare != virtual_memory().spare.end()) {
    const Addresses found = spare->second;
    virtual_memory().spare.erase(spare);
    return found;
  }
  const std::uint64_t granularity = profile()->granularity;
  const auto reserve = [&](std::uint64_t bytes) {
    void* const at =
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
  };
  Addresses made{reserve(size + granularity), reserve(size)};
  if (made.handed_out == nullptr || made.working == nullptr) {
    if (made.handed_out != nullptr) ::munmap(made.handed_out, size + granularity);
    if (made.working != nullptr) ::munmap(made.working, size);
    return {};
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(made.handed_out);
  made.handed_out = reinterpret_cast<void*>((begin + granularity - 1) / granularity * granularity);
  return made;
}

Status reserve_addresses(void** address, std::uint64_t size) {
  const std::uint64_t whole =
      (size + profile()->granularity - 1) / profile()->granularity * profile()->granularity;
  const std::lock_guard lock(virtual_memory().mutex);
  const Addresses taken = take_addresses(whole);
  if (taken.working == nullptr)
    return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "no addresses are left");
  auto range = std::make_shared<Range>();
  range->begin = reinterpret_cast<std::uintptr_t>(taken.handed_out);
  range->bytes = range->reserved = whole;
  range->host = static_cast<std::byte*>(taken.working);
  range->kind = MemoryKind::kReserved;
  range->written = std::make_shared<Written>(whole);
  if (!space().add(range))
    return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "the addresses are in use");
  virtual_memory().reservations[range->begin].range = range;
  add_live(ASCEND_TWIN_LIVE_RESERVED_RANGES);
  *address = taken.handed_out;
  return ACL_SUCCESS;
}

void unmap_physical(Reservation& reservation,
                    std::map<std::uint64_t, Reservation::Mapping>::iterator at) {
  Physical& physical = *at->second.physical;
  space().unmap(*reservation.range, at->first);
  physical.written->copy(0, *reservation.range->written, at->first, physical.bytes);
  reservation.range->written->clear(at->first, physical.bytes);
  // Not without access: a task that is at work may touch it until its end. Where the system
  // refuses, the pages stay, which does as well.
  [[maybe_unused]] const void* const fresh =
      ::mmap(reservation.range->host + at->first, physical.bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  reservation.mappings.erase(at);
}

Status release_reservation(void* address) {
  const std::lock_guard lock(virtual_memory().mutex);
  const auto found = virtual_memory().reservations.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == virtual_memory().reservations.end())
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "no reservation begins there");
  if (!found->second.mappings.empty())
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "memory is mapped into the reservation");
  const std::shared_ptr<Range> range = found->second.range;
  space().remove(address, MemoryKind::kReserved);
  virtual_memory().spare.emplace(range->bytes, Addresses{address, range->host});
  virtual_memory().reservations.erase(found);
  drop_live(ASCEND_TWIN_LIVE_RESERVED_RANGES);
  return ACL_SUCCESS;
}

/// The reservation around an address, and the offset in it.
Reservation* reservation_of(const void* address, std::uint64_t* offset) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto after = virtual_memory().reservations.upper_bound(at);
  if (after == virtual_memory().reservations.begin()) return nullptr;
  Reservation& found = std::prev(after)->second;
  *offset = at - found.range->begin;
  return *offset < found.range->bytes ? &found : nullptr;
}

Status map_physical(void* address, std::uint64_t size, const std::shared_ptr<Physical>& physical) {
  const std::lock_guard lock(virtual_memory().mutex);
  std::uint64_t offset = 0;
  Reservation* const reservation = reservation_of(address, &offset);
  if (reservation == nullptr)
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "the address is not reserved");
  if (size != physical->bytes) {
    return refuse(ACL_ERROR_RT_PARAM_INVALID, std::to_string(size) + " bytes of a handle of " +
                                                  std::to_string(physical->bytes));
  }
  if (offset % profile()->granularity != 0)
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "the address is no multiple of the granularity");
  Range& range = *reservation->range;
  if (size > range.bytes - offset)
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "the mapping leaves the reservation");
  for (const auto& [begin, mapping] : reservation->mappings) {
    if (begin < offset + size && offset < begin + mapping.physical->bytes)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "something is mapped there");
  }
  if (!reservation->mappings.empty() && range.device != physical->device) {
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "memory of device " + std::to_string(range.device) +
                                                  " is mapped into the reservation already");
  }
  void* const mapped =
      ::mmap(range.host + offset, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             physical->block->file(), static_cast<off_t>(physical->block->offset()));
  if (mapped == MAP_FAILED)
    return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "the system maps no more");
  range.written->copy(offset, *physical->written, 0, size);
  range.device = physical->device;
  reservation->mappings[offset] = {physical, offset};
  space().map(range, offset, offset + size);
  return ACL_SUCCESS;
}

const AtReset drop_virtual_memory([] {
  const std::lock_guard lock(virtual_memory().mutex);
  for (auto& [begin, reservation] : virtual_memory().reservations) {
    while (!reservation.mappings.empty()) unmap_physical(reservation, reservation.mappings.begin());
    ::munmap(reinterpret_cast<void*>(begin), reservation.range->bytes);
    ::munmap(reservation.range->host, reservation.range->bytes);
    space().remove(reinterpret_cast<void*>(begin), MemoryKind::kReserved);
    drop_live(ASCEND_TWIN_LIVE_RESERVED_RANGES);
  }
  virtual_memory().reservations.clear();
  for (const auto& [size, addresses] : virtual_memory().spare) {
    ::munmap(addresses.handed_out, size);
    ::munmap(addresses.working, size);
  }
  virtual_memory().spare.clear();
  for (std::size_t left = virtual_memory().physical.all().size(); left != 0; --left)
    drop_live(ASCEND_TWIN_LIVE_PHYSICAL_HANDLES);
  virtual_memory().physical.clear();
});

}  // namespace
}  // namespace ascend_twin

using namespace ascend_twin;

aclError aclrtReserveMemAddress(void** address, size_t size, size_t alignment, void* expected,
                                uint64_t flags) {
  return call("aclrtReserveMemAddress", Need::kContext, [&]() -> Status {
    constexpr std::uint64_t kMostAddresses = std::uint64_t{1} << 46;
    if (address == nullptr || size == 0)
      return refuse(ACL_ERROR_INVALID_PARAM, "the pointer is null or the size 0");
    if (alignment != 0 || expected != nullptr || flags > 1)
      return refuse(ACL_ERROR_INVALID_PARAM, "an alignment, an address or flags are given");
    ASCEND_TWIN_TRY(check_chip());
    ASCEND_TWIN_TRY(check_fault());
    if (size > kMostAddresses)
      return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, std::to_string(size) + " bytes of addresses");
    return reserve_addresses(address, size);
  });
}

aclError aclrtReleaseMemAddress(void* address) {
  return call("aclrtReleaseMemAddress", Need::kRelease, [&]() -> Status {
    if (address == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the address is null");
    ASCEND_TWIN_TRY(check_chip());
    return release_reservation(address);
  });
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                             const aclrtPhysicalMemProp* properties, uint64_t flags) {
  return call("aclrtMallocPhysical", Need::kContext, [&]() -> Status {
    if (handle == nullptr || size == 0 || flags != 0)
      return refuse(ACL_ERROR_INVALID_PARAM, "the pointer is null, the size 0, or there are flags");
    ASCEND_TWIN_TRY(check_chip());
    ASCEND_TWIN_TRY(check_properties(properties));
    const std::uint64_t granularity = granularity_of(properties->memAttr);
    if (size % granularity != 0) {
      return refuse(
          ACL_ERROR_RT_PARAM_INVALID,
          std::to_string(size) + " bytes are no multiple of " + std::to_string(granularity));
    }
    ASCEND_TWIN_TRY(check_fault());
    auto made = std::make_shared<Physical>();
    made->device = static_cast<std::int32_t>(properties->location.id);
    made->bytes = size;
    ASCEND_TWIN_TRY(space().allocate_block(made->device, size, &made->block));
    made->written = std::make_shared<Written>(size);
    *handle = virtual_memory().physical.add(std::move(made));
    add_live(ASCEND_TWIN_LIVE_PHYSICAL_HANDLES);
    return ACL_SUCCESS;
  });
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  return call("aclrtFreePhysical", Need::kRelease, [&]() -> Status {
    if (handle == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the handle is null");
    ASCEND_TWIN_TRY(check_chip());
    if (virtual_memory().physical.remove(handle) == nullptr)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "the handle is freed or none");
    drop_live(ASCEND_TWIN_LIVE_PHYSICAL_HANDLES);
    return ACL_SUCCESS;
  });
}

aclError aclrtMapMem(void* address, size_t size, size_t offset, aclrtDrvMemHandle handle,
                     uint64_t flags) {
  return call("aclrtMapMem", Need::kContext, [&]() -> Status {
    if (address == nullptr || handle == nullptr || size == 0 || offset != 0 || flags != 0)
      return refuse(ACL_ERROR_INVALID_PARAM, "a pointer is null, or there are an offset or flags");
    ASCEND_TWIN_TRY(check_chip());
    ASCEND_TWIN_TRY(check_fault());
    const std::shared_ptr<Physical> physical = virtual_memory().physical.find(handle);
    if (physical == nullptr)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "the handle is freed or none");
    return map_physical(address, size, physical);
  });
}

aclError aclrtUnmapMem(void* address) {
  return call("aclrtUnmapMem", Need::kRelease, [&]() -> Status {
    if (address == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the address is null");
    ASCEND_TWIN_TRY(check_chip());
    const std::lock_guard lock(virtual_memory().mutex);
    std::uint64_t offset = 0;
    Reservation* const reservation = reservation_of(address, &offset);
    if (reservation == nullptr)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "the address is not reserved");
    const auto found = reservation->mappings.find(offset);
    if (found == reservation->mappings.end())
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "no mapping begins there");
    ASCEND_TWIN_TRY(host_touches(address, found->second.physical->bytes, true, "aclrtUnmapMem"));
    unmap_physical(*reservation, found);
    return ACL_SUCCESS;
  });
}

aclError aclrtMemSetAccess(void* address, size_t size, aclrtMemAccessDesc* access, size_t count) {
  return call("aclrtMemSetAccess", Need::kContext, [&]() -> Status {
    if (address == nullptr || size == 0 || access == nullptr || count == 0)
      return refuse(ACL_ERROR_INVALID_PARAM, "a pointer is null or a size 0");
    ASCEND_TWIN_TRY(check_chip());
    const Found found = space().find(address, size);
    if (found.range == nullptr || found.range->kind != MemoryKind::kReserved)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "nothing is mapped there");
    for (size_t i = 0; i < count; ++i) {
      if (access[i].flags != ACL_RT_MEM_ACCESS_FLAGS_READWRITE)
        return refuse(ACL_ERROR_INVALID_PARAM, "access " + std::to_string(access[i].flags));
      std::shared_ptr<Device> device;
      if (access[i].location.type == ACL_MEM_LOCATION_TYPE_DEVICE)
        ASCEND_TWIN_TRY(find_device(access[i].location.id, &device));
    }
    return ACL_SUCCESS;
  });
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* properties,
                                          aclrtMemGranularityOptions option, size_t* granularity) {
  return call("aclrtMemGetAllocationGranularity", Need::kContext, [&]() -> Status {
    if (granularity == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "the granularity's pointer is null");
    if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM &&
        option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED)
      return refuse(ACL_ERROR_INVALID_PARAM, "option " + std::to_string(option));
    ASCEND_TWIN_TRY(check_chip());
    ASCEND_TWIN_TRY(check_properties(properties));
    *granularity = granularity_of(properties->memAttr);
    return ACL_SUCCESS;
  });
}
