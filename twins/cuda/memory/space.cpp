#include "cuda/memory/space.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <shared_mutex>
#include <utility>

#include "cuda/memory/hex.h"
#include "cuda/memory/storage.h"
#include "cuda/races/work_order.h"

namespace cuda_twin {

namespace {

constexpr std::size_t kFreedKept = 4096;  // for messages

struct Freed {
  std::uint64_t begin = 0, end = 0, number = 0;
};

bool host_may_write(MemoryKind kind) {
  return kind == MemoryKind::kPinned || kind == MemoryKind::kManaged;
}

/// An extent of fresh storage at no address yet.
std::shared_ptr<Extent> fresh_extent(std::uint64_t bytes, int device, MemoryKind kind) {
  const bool zeros = kind == MemoryKind::kModule;
  auto storage = Storage::make(bytes, zeros ? Storage::Fill::kZeros : Storage::Fill::kUnwritten);
  if (storage == nullptr) return nullptr;
  auto extent = std::make_shared<Extent>();
  extent->bytes = bytes;
  extent->data = storage->data();
  extent->written = host_may_write(kind) ? nullptr : storage->written();
  extent->cells = storage->cells();
  extent->device = device;
  extent->kind = kind;
  extent->backing = std::move(storage);
  return extent;
}

}  // namespace

struct Space::State {
  mutable std::shared_mutex mutex;
  std::map<std::uint64_t, ExtentPtr> live;          ///< by begin
  std::map<std::uint64_t, std::uint64_t> reserved;  ///< cuMemAddressReserve: begin, bytes
  std::deque<Freed> freed;                          ///< oldest first
  AddressRanges addresses;
  std::uint64_t next_number = 1;

  const Extent* at_or_before(std::uint64_t address) const {
    auto next = live.upper_bound(address);
    return next == live.begin() ? nullptr : std::prev(next)->second.get();
  }
  bool overlaps(std::uint64_t begin, std::uint64_t bytes) const {
    const Extent* const before = at_or_before(begin);
    if (before != nullptr && before->end() > begin) return true;
    const auto next = live.lower_bound(begin);
    return next != live.end() && next->first - begin < bytes;
  }
  bool is_reserved(std::uint64_t address) const {
    const auto next = reserved.upper_bound(address);
    return next != reserved.begin() && address - std::prev(next)->first < std::prev(next)->second;
  }
  void insert(const std::shared_ptr<Extent>& extent) {
    extent->number = next_number++;
    live[extent->begin] = extent;
  }
  void keep_freed(const Extent& extent) {
    freed.push_back({extent.begin, extent.end(), extent.number});
    if (freed.size() > kFreedKept) freed.pop_front();
  }
  const Freed* freed_at(std::uint64_t address) const {
    for (auto it = freed.rbegin(); it != freed.rend(); ++it) {
      if (address >= it->begin && address < it->end) return &*it;
    }
    return nullptr;
  }
};

Space::Space() : state_(std::make_unique<State>()), works_(std::make_unique<WorkOrder>()) {}
Space::~Space() = default;

namespace {

std::uint64_t usable_alignment(std::uint64_t alignment) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;
  return std::bit_ceil(std::clamp<std::uint64_t>(alignment, 256, kLargest));
}

}  // namespace

ExtentPtr Space::allocate(std::uint64_t bytes, std::uint64_t alignment, int device,
                          MemoryKind kind) {
  return place_fresh(fresh_extent(bytes, device, kind), alignment);
}

ExtentPtr Space::allocate_variable(std::uint64_t bytes, std::uint64_t alignment, int device,
                                   std::string name, bool read_only) {
  auto extent = fresh_extent(bytes, device, MemoryKind::kModule);
  if (extent == nullptr) return nullptr;
  extent->name = std::move(name);
  extent->read_only = read_only;
  return place_fresh(extent, alignment);
}

ExtentPtr Space::place_fresh(const std::shared_ptr<Extent>& extent, std::uint64_t alignment) {
  if (extent == nullptr) return nullptr;
  extent->begin = host_may_write(extent->kind)
                      ? reinterpret_cast<std::uint64_t>(extent->data)
                      : state_->addresses.take(extent->bytes, usable_alignment(alignment));
  if (extent->begin == 0) return nullptr;
  const std::unique_lock lock(state_->mutex);
  state_->insert(extent);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  return extent;
}

ExtentPtr Space::adopt(void* host, std::uint64_t bytes, int device, MemoryKind kind,
                       bool read_only) {
  auto extent = std::make_shared<Extent>();
  auto cells = std::make_shared<HostCells>(bytes + kCellPageBytes);
  extent->begin = reinterpret_cast<std::uint64_t>(host);
  extent->bytes = bytes;
  extent->data = static_cast<std::byte*>(host);
  extent->cells = &cells->cells;
  extent->cells_offset = extent->begin % kCellPageBytes;  // cells are aligned as addresses are
  extent->device = device;
  extent->kind = kind;
  extent->read_only = read_only;
  extent->backing = std::move(cells);
  const std::unique_lock lock(state_->mutex);
  if (bytes == 0 || extent->end() < extent->begin || state_->overlaps(extent->begin, bytes)) {
    return nullptr;
  }
  state_->insert(extent);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  return extent;
}

std::shared_ptr<Extent> Space::create(std::uint64_t bytes, int device) {
  return fresh_extent(bytes, device, MemoryKind::kMapped);
}

std::uint64_t Space::reserve(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t) {
  const std::uint64_t at = state_->addresses.take(bytes, usable_alignment(alignment));
  if (at == 0) return 0;
  const std::unique_lock lock(state_->mutex);
  state_->reserved[at] = bytes;
  return at;
}

void Space::unreserve(std::uint64_t address, std::uint64_t) {
  {
    const std::unique_lock lock(state_->mutex);
    if (state_->reserved.erase(address) == 0) return;
  }
  state_->addresses.give_back(address);
}

namespace {

/// A part of storage as it is seen at an address. Null for a part that cannot be.
std::shared_ptr<Extent> view_of(const std::shared_ptr<Extent>& storage, std::uint64_t offset,
                                std::uint64_t address, std::uint64_t bytes) {
  if (storage == nullptr || offset > storage->bytes || bytes > storage->bytes - offset) {
    return nullptr;
  }
  // The bitmap and the cells of a part begin at a whole word.
  if (bytes == 0 || offset % (64 * 1024) != 0) return nullptr;
  auto extent = std::make_shared<Extent>(*storage);
  extent->begin = address;
  extent->bytes = bytes;
  extent->data = storage->data + offset;
  extent->written = storage->written == nullptr ? nullptr : storage->written + offset / 64;
  extent->cells_offset = offset;
  extent->kind = MemoryKind::kMapped;
  return extent;
}

}  // namespace

ExtentPtr Space::map(std::uint64_t address, const std::shared_ptr<Extent>& storage,
                     std::uint64_t offset, std::uint64_t bytes) {
  auto extent = view_of(storage, offset, address, bytes);
  if (extent == nullptr) return nullptr;
  const std::unique_lock lock(state_->mutex);
  if (state_->overlaps(address, bytes)) return nullptr;
  state_->insert(extent);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  return extent;
}

ExtentPtr Space::replace(std::uint64_t address, const std::shared_ptr<Extent>& storage,
                         std::uint64_t offset, std::uint64_t bytes) {
  auto extent = view_of(storage, offset, address, bytes);
  if (extent == nullptr) return nullptr;
  ExtentPtr replaced;  // it goes after the lock
  const std::unique_lock lock(state_->mutex);
  const auto found = state_->live.find(address);
  if (found != state_->live.end()) {
    if (found->second->bytes != bytes) return nullptr;
    extent->number = found->second->number;
    replaced = std::exchange(found->second, extent);
  } else {
    if (state_->overlaps(address, bytes)) return nullptr;
    state_->insert(extent);
  }
  generation_.fetch_add(1, std::memory_order_acq_rel);
  return extent;
}

bool Space::remove(std::uint64_t begin) {
  ExtentPtr removed;  // its storage goes after the lock
  {
    const std::unique_lock lock(state_->mutex);
    const auto found = state_->live.find(begin);
    if (found == state_->live.end()) return false;
    removed = found->second;
    state_->keep_freed(*removed);
    state_->live.erase(found);
    generation_.fetch_add(1, std::memory_order_acq_rel);
  }
  if (removed->kind != MemoryKind::kMapped) state_->addresses.give_back(begin);
  return true;
}

ExtentPtr Space::find(std::uint64_t address) const {
  const std::shared_lock lock(state_->mutex);
  auto next = state_->live.upper_bound(address);
  if (next == state_->live.begin()) return nullptr;
  const ExtentPtr& extent = std::prev(next)->second;
  return address < extent->end() ? extent : nullptr;
}

namespace {

std::string counted(std::uint64_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string name_of(const Extent& extent) {
  const std::string size = " (" + counted(extent.bytes) + ")";
  if (!extent.name.empty()) return "variable " + extent.name + size;
  return "allocation " + std::to_string(extent.number) + size;
}

}  // namespace

std::string Space::place(const Extent& extent, std::uint64_t address) {
  return in_hex(address) + ", " + counted(address - extent.begin) + " into " + name_of(extent);
}

std::string Space::describe(std::uint64_t address, std::uint64_t bytes) const {
  const std::shared_lock lock(state_->mutex);
  const std::string at = in_hex(address);
  const Extent* const before = state_->at_or_before(address);
  if (before != nullptr && address < before->end()) {
    return at + ": the access of " + counted(bytes) + " crosses the end of " + name_of(*before);
  }
  if (const Freed* const freed = state_->freed_at(address)) {
    return at + " is in allocation " + std::to_string(freed->number) + ", which was freed";
  }
  constexpr std::uint64_t kNear = std::uint64_t{1} << 20;
  const auto next = state_->live.upper_bound(address);
  const std::uint64_t past = before == nullptr ? kNear : address - before->end();
  const std::uint64_t ahead = next == state_->live.end() ? kNear : next->first - address;
  if (past < kNear && past <= ahead) {
    return at + " is " + counted(past) + " past the end of " + name_of(*before);
  }
  if (ahead < kNear) return at + " is " + counted(ahead) + " before " + name_of(*next->second);
  if (state_->is_reserved(address)) {
    return at + " is reserved, and no device has access to memory there";
  }
  return at + (address < 4096 ? " is no address: a null pointer" : " is in no allocation");
}

}  // namespace cuda_twin
