#include "ascend/memory/space.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ascend/counts.h"
#include "ascend/profiles.h"

namespace ascend_twin {
namespace {

constexpr std::size_t kFreedRemembered = 4096;
constexpr std::uint64_t kBlockAlignment = 2 << 20;
constexpr std::uint64_t kMost = std::uint64_t{1} << 48;

std::uintptr_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

void poison(std::byte* at, std::uint64_t bytes) {
  const std::uint64_t front = std::min(bytes, kPoisonedAtMost);
  std::memset(at, kPoison, front);
  const std::uint64_t back = std::min(bytes - front, kPoisonedAtMost);
  std::memset(at + bytes - back, kPoison, back);
}

std::string size_text(std::uint64_t bytes) {
  return std::to_string(bytes) + " bytes";
}

}  // namespace

Space& space() {
  static auto* all = new Space;  // no destructor runs at exit
  return *all;
}

std::uint64_t damaged_tail_byte(const Range& range) {
  const std::byte* const tail = range.host + range.bytes;
  const std::uint64_t count = std::min(kTail, range.reserved - range.bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (tail[i] != std::byte{kPoison}) return i;
  }
  return kTail;
}

bool Space::fits(const Device& device, std::uint64_t bytes) const {
  const auto taken = device.used + static_cast<std::uint64_t>(setting(Setting::kFullMemory));
  const std::uint64_t total = device_memory();
  return taken <= total && bytes <= total - taken;
}

Space::Device* Space::device_of(std::int32_t device) {
  Device& found = devices_[device];
  if (found.arena == nullptr) {
    // Alignment of blocks takes more than is counted.
    const std::uint64_t bytes = device_memory() + device_memory() / 2 + (64 << 20);
    found.arena = Arena::make(bytes, profile() != nullptr && profile()->one_memory);
  }
  return found.arena == nullptr ? nullptr : &found;
}

Status Space::take(std::int32_t device, std::uint64_t bytes, std::uint64_t alignment,
                   std::uint64_t remainder, Range& range) {
  Device* const memory = device_of(device);
  if (memory == nullptr || !fits(*memory, bytes)) {
    return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION,
                  "device " + std::to_string(device) + " has no " + size_text(bytes) + " left");
  }
  const std::uint64_t offset = memory->arena->take(bytes, alignment, remainder);
  if (offset == Arena::kNone)
    return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "no gap of " + size_text(bytes) + " is left");
  range.begin = memory->arena->address(offset);
  range.reserved = bytes;
  range.host = memory->arena->working(offset);
  range.device = device;
  range.number = ++numbers_;
  memory->used += bytes;
  return ACL_SUCCESS;
}

Status Space::allocate(std::int32_t device, std::uint64_t bytes, bool padded, void** address) {
  if (bytes > kMost)
    return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION,
                  size_text(bytes) + " are more than any device has");
  const std::uint64_t reserved = (bytes + 31) / 32 * 32 + (padded ? kTail : 0);
  auto range = std::make_shared<Range>();
  range->bytes = bytes;
  // The host writes to shared memory by itself.
  const bool is_shared = profile() != nullptr && profile()->one_memory;
  range->written = std::make_shared<Written>(reserved, is_shared);
  const std::lock_guard lock(mutex_);
  ASCEND_TWIN_TRY(take(device, reserved, 128, 64, *range));
  poison(range->host, reserved);
  ranges_[range->begin] = range;
  count(ASCEND_TWIN_DEVICE_ALLOCATIONS);
  add_live(ASCEND_TWIN_LIVE_DEVICE_ALLOCATIONS);
  add_live(ASCEND_TWIN_LIVE_DEVICE_BYTES, bytes);
  add_live(ASCEND_TWIN_LIVE_DEVICE_BYTES_RESERVED, reserved);
  *address = reinterpret_cast<void*>(range->begin);
  return ACL_SUCCESS;
}

Status Space::allocate_host(std::int32_t device, std::uint64_t bytes, void** address) {
  constexpr std::uint64_t kHostAlignment = 128;
  if (bytes > kMost)
    return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, size_text(bytes) + " are more than any host has");
  auto range = std::make_shared<Range>();
  range->kind = MemoryKind::kHost;
  range->bytes = bytes;
  range->written = std::make_shared<Written>(bytes, true);
  const std::lock_guard lock(mutex_);
  if (profile() != nullptr && profile()->one_memory) {
    ASCEND_TWIN_TRY(take(device, bytes, 32, 16, *range));
  } else {
    // The range starts in the middle of a unit of 128.
    const std::uint64_t whole = (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
    range->block.reset(std::aligned_alloc(kHostAlignment, whole + kHostAlignment), std::free);
    if (range->block == nullptr)
      return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has no " + size_text(bytes));
    range->host = static_cast<std::byte*>(range->block.get()) + kHostAlignment / 2;
    range->begin = number_of(range->host);
    range->reserved = bytes;
    range->device = device;
    range->number = ++numbers_;
  }
  poison(range->host, bytes);
  ranges_[range->begin] = range;
  count(ASCEND_TWIN_HOST_ALLOCATIONS);
  add_live(ASCEND_TWIN_LIVE_HOST_ALLOCATIONS);
  add_live(ASCEND_TWIN_LIVE_HOST_BYTES, bytes);
  *address = reinterpret_cast<void*>(range->begin);
  return ACL_SUCCESS;
}

Status Space::allocate_block(std::int32_t device, std::uint64_t bytes,
                             std::shared_ptr<Block>* block) {
  if (bytes > kMost)
    return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION,
                  size_text(bytes) + " are more than any device has");
  const std::lock_guard lock(mutex_);
  Range range;
  ASCEND_TWIN_TRY(take(device, bytes, kBlockAlignment, 0, range));
  poison(range.host, bytes);
  Arena& arena = *devices_[device].arena;
  *block = std::make_shared<Block>(
      device, arena.file(), static_cast<std::uint64_t>(range.host - arena.working(0)), bytes);
  return ACL_SUCCESS;
}

void Space::release_block(std::int32_t device, std::uint64_t offset, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(device);
  if (found == devices_.end() || found->second.arena == nullptr) return;
  found->second.used -= bytes;
  found->second.arena->give_back(offset);
}

Block::~Block() {
  space().release_block(device_, offset_, bytes_);
}

Status Space::release(const void* begin, MemoryKind kind) {
  const std::shared_ptr<Range> range = remove(begin, kind);
  if (range == nullptr) {
    const std::shared_ptr<Range> other = range_of(begin);
    if (other == nullptr) return refuse(ACL_ERROR_RT_PARAM_INVALID, find(begin, 1).why);
    return refuse(ACL_ERROR_RT_PARAM_INVALID, other->kind == kind
                                                  ? "the address is inside an allocation"
                                                  : "another function made this memory");
  }
  const bool is_host = kind == MemoryKind::kHost;
  drop_live(is_host ? ASCEND_TWIN_LIVE_HOST_ALLOCATIONS : ASCEND_TWIN_LIVE_DEVICE_ALLOCATIONS);
  drop_live(is_host ? ASCEND_TWIN_LIVE_HOST_BYTES : ASCEND_TWIN_LIVE_DEVICE_BYTES, range->bytes);
  if (!is_host) drop_live(ASCEND_TWIN_LIVE_DEVICE_BYTES_RESERVED, range->reserved);
  const std::lock_guard lock(mutex_);
  const auto device = devices_.find(range->device);
  Arena* const arena = device == devices_.end() ? nullptr : device->second.arena.get();
  if (arena != nullptr && arena->has(range->host)) {
    device->second.used -= range->reserved;
    arena->give_back(static_cast<std::uint64_t>(range->host - arena->working(0)));
  }
  return ACL_SUCCESS;
}

bool Space::add(const std::shared_ptr<Range>& range) {
  const std::lock_guard lock(mutex_);
  const auto after = ranges_.lower_bound(range->begin);
  if (after != ranges_.end() && after->first < range->begin + range->reserved) return false;
  if (after != ranges_.begin() &&
      std::prev(after)->first + std::prev(after)->second->reserved > range->begin)
    return false;
  range->number = ++numbers_;
  ranges_[range->begin] = range;
  return true;
}

std::shared_ptr<Range> Space::remove(const void* begin, MemoryKind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(number_of(begin));
  if (found == ranges_.end() || found->second->kind != kind) return nullptr;
  std::shared_ptr<Range> range = found->second;
  ranges_.erase(found);
  if (kind == MemoryKind::kRegistered) return range;  // it lives on as the program's own
  freed_.push_back(
      {range->begin, range->begin + range->reserved, range->number, kind == MemoryKind::kHost});
  if (freed_.size() > kFreedRemembered) freed_.pop_front();
  return range;
}

std::shared_ptr<Range> Space::range_of(const void* address) const {
  const std::lock_guard lock(mutex_);
  auto after = ranges_.upper_bound(number_of(address));
  if (after == ranges_.begin()) return nullptr;
  const std::shared_ptr<Range>& range = std::prev(after)->second;
  return number_of(address) < range->begin + range->reserved ? range : nullptr;
}

std::uint64_t Space::number_at(const void* address) const {
  const std::shared_ptr<Range> range = range_of(address);
  if (range == nullptr) return 0;
  if (range->kind != MemoryKind::kReserved) return range->number;
  const std::uint64_t offset = number_of(address) - range->begin;
  const std::lock_guard lock(mutex_);
  const auto after = range->mapped.upper_bound(offset);
  if (after == range->mapped.begin() || std::prev(after)->second.end <= offset) return 0;
  return std::prev(after)->second.number;
}

void Space::map(Range& reservation, std::uint64_t offset, std::uint64_t end) {
  const std::lock_guard lock(mutex_);
  reservation.mapped[offset] = {end, ++numbers_};
}

void Space::unmap(Range& reservation, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  reservation.mapped.erase(offset);
}

Found Space::find_in(const std::shared_ptr<Range>& range, std::uintptr_t at,
                     std::uint64_t bytes) const {
  const std::uint64_t offset = at - range->begin;
  if (range->kind == MemoryKind::kReserved) {
    const std::lock_guard lock(mutex_);
    std::uint64_t reached = offset;
    for (const auto& [begin, mapped] : range->mapped) {
      if (begin <= reached && reached < mapped.end) reached = mapped.end;
    }
    if (reached == offset || reached - offset < bytes)
      return {nullptr, nullptr,
              "nothing is mapped at byte " + std::to_string(reached) + " of reservation " +
                  std::to_string(range->number)};
    return {range, range->host + offset, ""};
  }
  if (offset <= range->reserved && bytes <= range->reserved - offset)
    return {range, range->host + offset, ""};
  return {nullptr, nullptr,
          size_text(offset + bytes - range->reserved) + " past the end of allocation " +
              std::to_string(range->number) + " of " + size_text(range->bytes)};
}

Found Space::find(const void* address, std::uint64_t bytes) const {
  const std::uintptr_t at = number_of(address);
  if (const std::shared_ptr<Range> range = range_of(address)) {
    const bool is_one = profile() != nullptr && profile()->one_memory;
    if (range->kind == MemoryKind::kHost && !is_one)
      return {nullptr, nullptr, "the address is pinned memory of the host"};
    return find_in(range, at, bytes);
  }
  const std::lock_guard lock(mutex_);
  for (auto freed = freed_.rbegin(); freed != freed_.rend(); ++freed) {
    if (at >= freed->begin && at < freed->end)
      return {nullptr, nullptr, "allocation " + std::to_string(freed->number) + " is freed"};
  }
  return {nullptr, nullptr, address == nullptr ? "the address is null" : "the address is foreign"};
}

bool Space::is_device_region(const void* address) const {
  const std::lock_guard lock(mutex_);
  for (const Freed& freed : freed_) {
    if (!freed.is_host && number_of(address) >= freed.begin && number_of(address) < freed.end)
      return true;
  }
  return std::any_of(devices_.begin(), devices_.end(), [&](const auto& entry) {
    const Arena* const arena = entry.second.arena.get();
    return arena != nullptr && number_of(address) >= arena->address(0) &&
           number_of(address) < arena->address(arena->bytes());
  });
}

Found Space::find_any(const void* address, std::uint64_t bytes) const {
  if (const std::shared_ptr<Range> range = range_of(address))
    return find_in(range, number_of(address), bytes);
  if (address == nullptr || is_device_region(address)) return find(address, bytes);
  return {nullptr, static_cast<std::byte*>(const_cast<void*>(address)), ""};
}

std::uint64_t Space::free_bytes(std::int32_t device) const {
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(device);
  const std::uint64_t used = (found == devices_.end() ? 0 : found->second.used) +
                             static_cast<std::uint64_t>(setting(Setting::kFullMemory));
  return used > device_memory() ? 0 : device_memory() - used;
}

std::vector<std::shared_ptr<Range>> Space::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Range>> live;
  live.reserve(ranges_.size());
  for (const auto& [begin, range] : ranges_) live.push_back(range);
  return live;
}

void Space::clear() {
  for (const auto& range : all()) {
    if (range->kind == MemoryKind::kDevice || range->kind == MemoryKind::kHost)
      release(reinterpret_cast<const void*>(range->begin), range->kind);
  }
  const std::lock_guard lock(mutex_);
  ranges_.clear();
  freed_.clear();
  devices_.clear();
}

}  // namespace ascend_twin
