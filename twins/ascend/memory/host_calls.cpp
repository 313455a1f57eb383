// Memory of the host that the runtime knows: pinned or registered.
#include <utility>

#include "ascend/include/acl/acl_runtime.h"
#include "ascend/memory/space.h"
#include "ascend/profiles.h"
#include "ascend/runtime/devices.h"

using namespace ascend_twin;

namespace {

constexpr std::uint64_t kSmallPage = 4096;
constexpr std::uint64_t kHugePage = 2 << 20;

Status check_registered_host() {
  if (profile() == nullptr || !profile()->has_registered_host)
    return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this chip registers no memory of the host");
  return ACL_SUCCESS;
}

Status register_host(void* address, std::uint64_t size) {
  if (address == nullptr || size == 0)
    return refuse(ACL_ERROR_INVALID_PARAM, "the address is null or the size 0");
  ASCEND_TWIN_TRY(check_registered_host());
  if (reinterpret_cast<std::uintptr_t>(address) % kSmallPage != 0)
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "the address is not on a page");
  if (space().is_device_region(address))
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "the address is a device's");
  std::shared_ptr<Context> context;
  ASCEND_TWIN_TRY(current_context(&context));
  auto range = std::make_shared<Range>();
  range->begin = reinterpret_cast<std::uintptr_t>(address);
  range->bytes = range->reserved = size;
  range->host = static_cast<std::byte*>(address);
  range->kind = MemoryKind::kRegistered;
  range->device = context->device->index;
  range->written = std::make_shared<Written>(size, true);
  if (!space().add(range))
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "some of the memory is registered already");
  return ACL_SUCCESS;
}

Status check_not_queued(const void* address) {
  const auto range = space().range_of(address);
  if (range == nullptr || range->queued == 0) return ACL_SUCCESS;
  return object(ACL_ERROR_RT_PARAM_INVALID, "memory of the host is freed under queued work");
}

}  // namespace

aclError aclrtMallocHost(void** address, size_t size) {
  return call("aclrtMallocHost", Need::kContext, [&]() -> Status {
    if (address == nullptr || size == 0)
      return refuse(ACL_ERROR_INVALID_PARAM, "the pointer is null or the size 0");
    if (fault_is_due(Setting::kFailHostMemory))
      return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "no memory, as the fault asks");
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(current_context(&context));
    return space().allocate_host(context->device->index, size, address);
  });
}

aclError aclrtFreeHost(void* address) {
  return call("aclrtFreeHost", Need::kInitialised, [&]() -> Status {
    if (address == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the address is null");
    ASCEND_TWIN_TRY(check_not_queued(address));
    return space().release(address, MemoryKind::kHost);
  });
}

aclError aclrtHostRegister(void* address, uint64_t size, aclrtHostRegisterType type,
                           void** device) {
  return call("aclrtHostRegister", Need::kContext, [&]() -> Status {
    if (device == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the device's pointer is null");
    if (type != ACL_HOST_REGISTER_MAPPED)
      return refuse(ACL_ERROR_INVALID_PARAM, "type " + std::to_string(type));
    ASCEND_TWIN_TRY(register_host(address, size));
    *device = address;
    return ACL_SUCCESS;
  });
}

aclError aclrtHostRegisterV2(void* address, uint64_t size, uint32_t flags) {
  return call("aclrtHostRegisterV2", Need::kContext, [&]() -> Status {
    constexpr std::uint32_t kKnown = ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED;
    if (flags == 0 || (flags & ~kKnown) != 0)
      return refuse(ACL_ERROR_INVALID_PARAM, "flags " + std::to_string(flags));
    return register_host(address, size);
  });
}

aclError aclrtHostUnregister(void* address) {
  return call("aclrtHostUnregister", Need::kRelease, [&]() -> Status {
    if (address == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the address is null");
    ASCEND_TWIN_TRY(check_registered_host());
    ASCEND_TWIN_TRY(check_not_queued(address));
    if (space().remove(address, MemoryKind::kRegistered) == nullptr)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "no registered memory begins there");
    return ACL_SUCCESS;
  });
}

aclError aclrtHostGetDevicePointer(void* address, void** device, uint32_t flags) {
  return call("aclrtHostGetDevicePointer", Need::kContext, [&]() -> Status {
    if (address == nullptr || device == nullptr || flags != 0)
      return refuse(ACL_ERROR_INVALID_PARAM, "a pointer is null, or there are flags");
    ASCEND_TWIN_TRY(check_registered_host());
    const auto range = space().range_of(address);
    if (range == nullptr || range->kind != MemoryKind::kRegistered)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "the memory is not registered");
    *device = address;
    return ACL_SUCCESS;
  });
}

aclError aclrtPointerGetAttributes(const void* address, aclrtPtrAttributes* attributes) {
  return call("aclrtPointerGetAttributes", Need::kContext, [&]() -> Status {
    if (address == nullptr || attributes == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "a pointer is null");
    *attributes = {};
    const auto range = space().range_of(address);
    if (range == nullptr) {
      attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
      return ACL_SUCCESS;
    }
    attributes->location.type =
        range->is_device() ? ACL_MEM_LOCATION_TYPE_DEVICE : ACL_MEM_LOCATION_TYPE_HOST;
    attributes->location.id = range->is_device() ? static_cast<std::uint32_t>(range->device) : 0;
    // More than a MiB of a device's memory comes in huge pages.
    attributes->pageSize = static_cast<std::uint32_t>(
        range->is_device() && range->bytes > 1 << 20 ? kHugePage : kSmallPage);
    return ACL_SUCCESS;
  });
}
