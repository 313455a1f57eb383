// Allocations of pools and of graphs: accounting at the call, storage in the stream's turn.
#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

#include "cuda/call.h"
#include "cuda/driver/pools.h"

namespace cuda_twin {
namespace {

using PoolsLock = std::unique_lock<std::mutex>;
PoolsLock lock_pools() {
  return PoolsLock(driver().pools_mutex);
}

/// A pool takes memory of the device in blocks, smaller ones where the device is nearly full.
constexpr std::uint64_t kBlock = std::uint64_t{32} << 20;
constexpr std::uint64_t kSmallBlock = std::uint64_t{2} << 20;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint64_t pending_elsewhere(const Pool& pool, const Stream* stream) {
  std::uint64_t bytes = 0;
  for (const PendingFree& free : pool.pending)
    if (free.stream != stream) bytes += free.bytes;
  return bytes;
}

/// Memory that the pool cannot give back: in use, or freed by work that has not run.
std::uint64_t outstanding(const Pool& pool) {
  return pool.used + pending_elsewhere(pool, nullptr);
}

void shrink(Pool& pool, std::uint64_t keep) {
  const std::uint64_t target =
      std::min(pool.reserved, round_up(std::max(keep, outstanding(pool)), kBlock));
  refund(*pool.device, pool.reserved - target);
  pool.reserved = target;
}

/// Takes memory of the device until the pool has `bytes` in all.
bool grow(Pool& pool, std::uint64_t bytes) {
  const std::uint64_t missing = bytes - pool.reserved;
  for (const std::uint64_t unit : {kBlock, kSmallBlock}) {
    const std::uint64_t more = round_up(missing, unit);
    if (!charge(*pool.device, more)) continue;
    pool.reserved += more;
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
    return true;
  }
  return false;
}

/// What other pools of the device hold without need.
void release_spare(const Device& device) {
  for (const auto& pool : driver().pools.all())
    if (pool->device == &device) shrink(*pool, 0);
}

bool has_room(const Pool& pool, std::uint64_t charged) {
  const std::uint64_t most = pool.props.maxSize;
  return most == 0 || (charged <= most && pool.used <= most - charged);
}

/// Counts an allocation by `stream`, whose own frees it may reuse before their turn.
bool take(Pool& pool, std::uint64_t charged, const Stream* stream) {
  if (!has_room(pool, charged)) return false;
  const std::uint64_t needed = pool.used + pending_elsewhere(pool, stream) + charged;
  if (needed > pool.reserved && !grow(pool, needed)) {
    release_spare(*pool.device);
    if (needed > pool.reserved && !grow(pool, needed)) return false;
  }
  pool.used += charged;
  pool.used_high = std::max(pool.used_high, pool.used);
  return true;
}

void finish_pending(PoolAllocation& memory) {
  if (!memory.is_pending) return;
  memory.pool->pending.erase(memory.pending);
  memory.is_pending = false;
}

CUresult show(PoolAllocation& memory) {
  memory.storage->granted = memory.readers;
  memory.storage->read_only = memory.writers == 0;
  memory.mapped = memory.space->map(memory.address, memory.storage, 0, memory.bytes) != nullptr;
  return memory.mapped ? CUDA_SUCCESS : refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory");
}

void unmap(PoolAllocation& memory) {
  if (memory.mapped) memory.space->remove(memory.address);
  memory.mapped = false;
  memory.storage = nullptr;
}

/// Rows of graphs' memory stay in the table when it ends.
void forget_ended() {
  auto& table = driver().pool_allocations;
  if ((table.size() & (table.size() - 1)) == 0)
    std::erase_if(table, [](const auto& row) { return row.second.expired(); });
}

CUresult end_use_locked(PoolAllocation& memory, const Stream* stream) {
  if (memory.self == nullptr)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the memory is not allocated, or was freed");
  Pool& pool = *memory.pool;
  pool.used -= memory.charged;
  finish_pending(memory);  // of an earlier launch of the same graph
  pool.pending.push_back({stream, memory.charged});
  memory.pending = std::prev(pool.pending.end());
  memory.is_pending = true;
  memory.self = nullptr;
  return CUDA_SUCCESS;
}

}  // namespace

Pool::~Pool() {
  if (device != nullptr) refund(*device, reserved);
}

PoolAllocation::~PoolAllocation() {
  // Its last holder may hold pools_mutex or not: the table keeps a weak pointer, which stays.
  unmap(*this);
  if (space != nullptr && address != 0) space->unreserve(address, charged);
}

CUresult reserve_memory(const std::shared_ptr<Pool>& pool, std::uint64_t bytes,
                        std::shared_ptr<PoolAllocation>& memory) {
  constexpr std::uint64_t kGrain = 512;
  if (bytes == 0) return refuse(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
  if (bytes > pool->device->memory_bytes)
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "more bytes than the device has");
  auto made = std::make_shared<PoolAllocation>();
  made->pool = pool;
  made->bytes = bytes;
  made->charged = round_up(bytes, kGrain);
  made->space = driver().space;
  made->address = made->space->reserve(made->charged, kGrain, 0);
  if (made->address == 0)
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host has no addresses for the allocation");
  const PoolsLock lock = lock_pools();
  made->readers = pool->readers;
  made->writers = pool->writers;
  forget_ended();
  driver().pool_allocations[made->address] = made;
  memory = std::move(made);
  return CUDA_SUCCESS;
}

CUresult begin_use(const std::shared_ptr<PoolAllocation>& memory, const Stream* stream) {
  const PoolsLock lock = lock_pools();
  if (memory->self != nullptr)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "memory that an earlier launch of the graph allocated was not freed");
  if (!take(*memory->pool, memory->charged, stream))
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the pool or its device is full");
  memory->self = memory;
  return CUDA_SUCCESS;
}

CUresult end_use(PoolAllocation& memory, const Stream* stream) {
  const PoolsLock lock = lock_pools();
  return end_use_locked(memory, stream);
}

bool is_in_use(const PoolAllocation& memory) {
  const PoolsLock lock = lock_pools();
  return memory.self != nullptr;
}

void cancel_use(PoolAllocation& memory) {
  const PoolsLock lock = lock_pools();
  if (memory.self != nullptr) memory.pool->used -= memory.charged;
  memory.self = nullptr;
  finish_pending(memory);
}

CUresult perform_allocation(PoolAllocation& memory) {
  std::shared_ptr<Extent> storage =
      memory.space->create(memory.bytes, memory.pool->device->ordinal);
  if (storage == nullptr) return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory");
  const PoolsLock lock = lock_pools();
  if (memory.mapped) return CUDA_SUCCESS;
  memory.storage = std::move(storage);
  return show(memory);
}

void grant_access(const Pool& pool) {
  for (const auto& [address, weak] : driver().pool_allocations) {
    const std::shared_ptr<PoolAllocation> memory = weak.lock();
    if (memory == nullptr || memory->pool.get() != &pool || memory->of_graph) continue;
    memory->readers = pool.readers;
    memory->writers = pool.writers;
    if (memory->mapped) {
      memory->space->remove(address);
      show(*memory);
    }
  }
}

CUresult perform_free(PoolAllocation& memory) {
  const PoolsLock lock = lock_pools();
  finish_pending(memory);
  if (!memory.mapped)
    return refuse(CUDA_ERROR_ILLEGAL_ADDRESS,
                  "stream-ordered memory was freed before the turn of its allocation");
  unmap(memory);
  if (!memory.of_graph) driver().pool_allocations.erase(memory.address);
  return CUDA_SUCCESS;
}

CUresult free_pool_memory(std::uint64_t address, bool& found) {
  const std::shared_ptr<PoolAllocation> memory = pool_allocation_at(address);
  found = memory != nullptr && memory->address == address;
  if (!found) return CUDA_SUCCESS;
  if (memory->freed_in_graph)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the graph that allocates this memory frees it");
  CUDA_TWIN_TRY(end_use(*memory, nullptr));
  return perform_free(*memory);
}

std::shared_ptr<PoolAllocation> pool_allocation_at(std::uint64_t address) {
  const PoolsLock lock = lock_pools();
  auto& table = driver().pool_allocations;
  auto at = table.upper_bound(address);
  if (at == table.begin()) return nullptr;
  --at;
  std::shared_ptr<PoolAllocation> memory = at->second.lock();
  if (memory == nullptr) {
    table.erase(at);
    return nullptr;
  }
  return address - memory->address < memory->bytes ? memory : nullptr;
}

void release_pool_memory(Device& device) {
  const PoolsLock lock = lock_pools();
  for (const auto& pool : driver().pools.all())
    if (pool->device == &device && pool->reserved > pool->release_threshold)
      shrink(*pool, pool->release_threshold);
}

void trim_pool(Pool& pool, std::uint64_t keep) {
  const PoolsLock lock = lock_pools();
  if (pool.reserved > keep) shrink(pool, keep);
}

PoolUse pool_use() {
  const PoolsLock lock = lock_pools();
  PoolUse use;
  for (const auto& [address, weak] : driver().pool_allocations) {
    const std::shared_ptr<PoolAllocation> memory = weak.lock();
    if (memory == nullptr || (memory->self == nullptr && !memory->mapped)) continue;
    ++use.allocations;
    use.bytes += memory->bytes;
  }
  return use;
}

void drop_pools() {
  std::vector<std::shared_ptr<PoolAllocation>> held;  // they end when the lock is open again
  {
    const PoolsLock lock = lock_pools();
    for (const auto& [address, weak] : driver().pool_allocations)
      if (std::shared_ptr<PoolAllocation> memory = weak.lock()) {
        memory->self = nullptr;
        held.push_back(std::move(memory));
      }
    driver().pool_allocations.clear();
  }
  held.clear();
  driver().pools.clear();
  for (const auto& device : driver().devices) {
    device->default_pool = nullptr;
    device->current_pool = nullptr;
  }
}

}  // namespace cuda_twin
