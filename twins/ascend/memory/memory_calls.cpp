// Memory of a device.
#include "ascend/include/acl/acl_runtime.h"
#include "ascend/memory/space.h"
#include "ascend/profiles.h"
#include "ascend/runtime/devices.h"
#include "ascend/runtime/stream.h"
#include "ascend/runtime/thread.h"

using namespace ascend_twin;

namespace {

Status allocate(void** address, std::size_t size, bool padded) {
  if (address == nullptr || size == 0)
    return refuse(ACL_ERROR_INVALID_PARAM, "the pointer is null or the size 0");
  if (fault_is_due(Setting::kFailDeviceMemory))
    return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "no memory, as the fault asks");
  std::shared_ptr<Context> context;
  ASCEND_TWIN_TRY(current_context(&context));
  return space().allocate(context->device->index, size, padded, address);
}

Status release_device(void* address) {
  if (address == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the address is null");
  const auto range = space().range_of(address);
  if (range != nullptr && range->kind == MemoryKind::kDevice) {
    if (range->queued != 0)
      ASCEND_TWIN_TRY(object(ACL_ERROR_RT_PARAM_INVALID, "memory is freed under queued work"));
    if (const std::uint64_t byte = damaged_tail_byte(*range); byte != kTail) {
      ASCEND_TWIN_TRY(object(ACL_ERROR_RT_PARAM_INVALID,
                             "byte " + std::to_string(byte) + " of the tail was written to"));
    }
  }
  return space().release(address, MemoryKind::kDevice);
}

/// Of a cached piece of memory: the caches of the chip need no help.
Status check_piece(const void* address, std::size_t size) {
  if (address == nullptr || size == 0)
    return refuse(ACL_ERROR_INVALID_PARAM, "the pointer is null or the size 0");
  const Found found = space().find(address, size);
  if (found.range == nullptr) return refuse(ACL_ERROR_RT_PARAM_INVALID, found.why);
  return ACL_SUCCESS;
}

}  // namespace

aclError aclrtMalloc(void** address, size_t size, aclrtMemMallocPolicy /*policy*/) {
  return call("aclrtMalloc", Need::kContext, [&] { return allocate(address, size, true); });
}

aclError aclrtMallocAlign32(void** address, size_t size, aclrtMemMallocPolicy /*policy*/) {
  return call("aclrtMallocAlign32", Need::kContext, [&] { return allocate(address, size, false); });
}

aclError aclrtMallocCached(void** address, size_t size, aclrtMemMallocPolicy /*policy*/) {
  return call("aclrtMallocCached", Need::kContext, [&] { return allocate(address, size, true); });
}

aclError aclrtMallocWithCfg(void** address, size_t size, aclrtMemMallocPolicy /*policy*/,
                            aclrtMallocConfig* config) {
  return call("aclrtMallocWithCfg", Need::kContext, [&]() -> Status {
    if (config != nullptr && config->numAttrs != 0 && config->attrs == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "the attributes are null");
    for (std::size_t i = 0; config != nullptr && i < config->numAttrs; ++i) {
      const aclrtMallocAttrType attr = config->attrs[i].attr;
      if (attr < ACL_RT_MEM_ATTR_RSV || attr > ACL_RT_MEM_ATTR_VA_FLAG)
        return refuse(ACL_ERROR_INVALID_PARAM, "attribute " + std::to_string(attr));
    }
    return allocate(address, size, true);
  });
}

aclError aclrtMemFlush(void* address, size_t size) {
  return call("aclrtMemFlush", Need::kContext, [&] { return check_piece(address, size); });
}

aclError aclrtMemInvalidate(void* address, size_t size) {
  return call("aclrtMemInvalidate", Need::kContext, [&] { return check_piece(address, size); });
}

aclError aclrtFree(void* address) {
  return call("aclrtFree", Need::kRelease, [&] { return release_device(address); });
}

aclError aclrtFreeWithDevSync(void* address) {
  return call("aclrtFreeWithDevSync", Need::kRelease, [&]() -> Status {
    std::shared_ptr<Context> current;
    ASCEND_TWIN_TRY(current_context(&current));
    ASCEND_TWIN_TRY(check_can_wait());
    for (const auto& context : library().contexts.all()) {
      if (context->device != current->device) continue;
      for (const auto& stream : streams_of(*context)) stream->wait_for(stream->last_ticket());
    }
    return release_device(address);
  });
}

aclError aclrtGetMemInfo(aclrtMemAttr attribute, size_t* free, size_t* total) {
  return call("aclrtGetMemInfo", Need::kContext, [&]() -> Status {
    constexpr int kLast = 17;
    if (free == nullptr || total == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "a pointer is null");
    if (attribute < ACL_DDR_MEM || attribute > kLast)
      return refuse(ACL_ERROR_INVALID_PARAM, "an unknown kind of memory");
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(current_context(&context));
    *free = space().free_bytes(context->device->index);
    *total = device_memory();
    return ACL_SUCCESS;
  });
}
