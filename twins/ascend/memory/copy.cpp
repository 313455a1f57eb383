#include "ascend/memory/copy.h"

#include <cstring>

#include "ascend/memory/space.h"
#include "ascend/runtime/devices.h"
#include "ascend/strict/nz.h"
#include "ascend/support.h"

namespace ascend_twin {
namespace {

/// From where to where bytes went, for the counts.
struct Way {
  bool to_device = false;
  bool from_device = false;
};

void count_copy(Way way, std::uint64_t bytes) {
  if (way.to_device && way.from_device) {
    count(ASCEND_TWIN_COPIES_WITHIN);
    count(ASCEND_TWIN_COPIED_BYTES_WITHIN, bytes);
  } else if (way.to_device) {
    count(ASCEND_TWIN_COPIES_TO_DEVICE);
    count(ASCEND_TWIN_COPIED_BYTES_TO_DEVICE, bytes);
  } else if (way.from_device) {
    count(ASCEND_TWIN_COPIES_TO_HOST);
    count(ASCEND_TWIN_COPIED_BYTES_TO_HOST, bytes);
  }
}

Status copy_row(void* to, const void* from, std::size_t bytes, Status bad, Way* way) {
  const Found target = space().find_any(to, bytes);
  const Found source = space().find_any(from, bytes);
  if (target.host == nullptr) return refuse(bad, "destination: " + target.why);
  if (source.host == nullptr) return refuse(bad, "source: " + source.why);
  way->to_device = target.range != nullptr && target.range->is_device();
  way->from_device = source.range != nullptr && source.range->is_device();
  if (way->to_device && way->from_device &&
      !are_peers(target.range->device, source.range->device)) {
    return refuse(static_cast<Status>(unknown("peer copy without access code")),
                  "devices " + std::to_string(source.range->device) + " and " +
                      std::to_string(target.range->device) + " have no access to each other");
  }
  std::memmove(target.host, source.host, bytes);
  forget_nz(to, bytes);
  if (!way->to_device) return ACL_SUCCESS;
  const auto offset = static_cast<std::uint64_t>(target.host - target.range->host);
  if (way->from_device) {
    target.range->written->copy(offset, *source.range->written,
                                static_cast<std::uint64_t>(source.host - source.range->host),
                                bytes);
  } else {
    target.range->written->mark(offset, bytes);
  }
  return ACL_SUCCESS;
}

}  // namespace

Status check_copy(const void* to, std::size_t most, const void* from, std::size_t count,
                  std::int32_t kind) {
  if (to == nullptr || from == nullptr)
    return refuse(ACL_ERROR_INVALID_PARAM, "an address is null");
  if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE)
    return refuse(ACL_ERROR_INVALID_PARAM, "kind of copy " + std::to_string(kind));
  if (count > most) {
    return refuse(ACL_ERROR_RT_PARAM_INVALID,
                  std::to_string(count) + " bytes for a destination of " + std::to_string(most));
  }
  return ACL_SUCCESS;
}

Place place_of(const void* address) {
  if (const auto range = space().range_of(address))
    return range->is_pinned() ? Place::kPinned : Place::kDevice;
  return space().is_device_region(address) ? Place::kDevice : Place::kPageable;
}

Status copy_now(const Copy& copy, Status bad) {
  if (copy.width == 0 || copy.height == 0) return ACL_SUCCESS;
  Way way;
  for (std::size_t row = 0; row < copy.height; ++row) {
    ASCEND_TWIN_TRY(copy_row(static_cast<std::byte*>(copy.to) + row * copy.to_pitch,
                             static_cast<const std::byte*>(copy.from) + row * copy.from_pitch,
                             copy.width, bad, &way));
  }
  count_copy(way, copy.width * copy.height);
  return ACL_SUCCESS;
}

Status fill_now(void* address, std::int32_t value, std::size_t count, Status bad) {
  if (count == 0) return ACL_SUCCESS;
  const Found found = space().find_any(address, count);
  if (found.range == nullptr && found.host != nullptr)
    return refuse(bad, "the address is memory that the runtime does not know");
  if (found.range == nullptr) return refuse(bad, found.why);
  std::memset(found.host, value, count);
  forget_nz(address, count);
  found.range->written->mark(static_cast<std::uint64_t>(found.host - found.range->host), count);
  return ACL_SUCCESS;
}

}  // namespace ascend_twin
