// Allocations of pools and of graphs: accounting at the call, storage in the stream's turn.
#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "cuda/call.h"
#include "cuda/driver/access.h"
#include "cuda/driver/pool_accounts.h"
#include "cuda/driver/pools.h"

namespace cuda_twin {
namespace {

std::uint64_t context_id(const Stream* stream) {
  const std::shared_ptr<Context> context = stream == nullptr ? nullptr : stream->context.lock();
  return context == nullptr ? 0 : context->id;
}

void finish_pending(PoolAllocation& memory) {
  if (!memory.is_pending) return;
  memory.pool->pending.erase(memory.pending);
  memory.is_pending = false;
}

CUresult show(PoolAllocation& memory) {
  memory.storage->granted = memory.readers;
  memory.storage->read_only = memory.writers == 0;
  Space& space = *memory.space;
  const ExtentPtr shown = memory.mapped
                              ? space.replace(memory.address, memory.storage, 0, memory.bytes)
                              : space.map(memory.address, memory.storage, 0, memory.bytes);
  memory.mapped = shown != nullptr;
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

/// All that is alive. The caller drops it when the lock is open: it may be the last holder.
std::vector<std::shared_ptr<PoolAllocation>> all_memory() {
  std::vector<std::shared_ptr<PoolAllocation>> all;
  const PoolsLock lock = lock_pools();
  for (const auto& [address, weak] : driver().pool_allocations)
    if (std::shared_ptr<PoolAllocation> memory = weak.lock()) all.push_back(std::move(memory));
  return all;
}

bool is_claimed_by_own_graph(const PoolAllocation& memory) {
  return std::ranges::any_of(memory.claims, [](const auto& each) {
    const std::shared_ptr<const FreeClaim> claim = each.lock();
    return claim != nullptr && claim->by_own_graph;
  });
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

PoolAllocation::~PoolAllocation() {
  {
    const PoolsLock lock = lock_pools();
    finish_pending(*this);  // the free's stream ended before its turn
    unmap(*this);
  }
  if (space != nullptr && address != 0) space->unreserve(address, charged);
}

namespace {

/// Others see the allocation only when all of it is set.
CUresult reserve(const std::shared_ptr<Pool>& pool, std::uint64_t bytes, bool of_graph,
                 std::span<const CUmemAccessDesc> more, std::shared_ptr<PoolAllocation>& memory) {
  constexpr std::uint64_t kGrain = 512;
  if (bytes == 0) return refuse(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
  if (bytes > pool->device->memory_bytes)
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "more bytes than the device has");
  auto made = std::make_shared<PoolAllocation>();
  made->pool = pool;
  made->bytes = bytes;
  made->charged = (bytes + kGrain - 1) / kGrain * kGrain;
  made->space = driver().space;
  made->address = made->space->reserve(made->charged, kGrain, 0);
  if (made->address == 0)
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host has no addresses for the allocation");
  const PoolsLock lock = lock_pools();
  made->of_graph = of_graph;
  made->readers = pool->readers;
  made->writers = pool->writers;
  for (const CUmemAccessDesc& each : more) set_access_bits(each, made->readers, made->writers);
  forget_ended();
  driver().pool_allocations[made->address] = made;
  memory = std::move(made);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult reserve_memory(const std::shared_ptr<Pool>& pool, std::uint64_t bytes,
                        std::shared_ptr<PoolAllocation>& memory) {
  return reserve(pool, bytes, false, {}, memory);
}

CUresult reserve_graph_memory(const std::shared_ptr<Pool>& pool, std::uint64_t bytes,
                              std::span<const CUmemAccessDesc> more,
                              std::shared_ptr<PoolAllocation>& memory) {
  return reserve(pool, bytes, true, more, memory);
}

CUresult begin_use(const std::shared_ptr<PoolAllocation>& memory, const Stream* stream) {
  const PoolsLock lock = lock_pools();
  if (memory->self != nullptr)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "memory that an earlier launch of the graph allocated was not freed");
  if (!take(*memory->pool, memory->charged, stream))
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the pool or its device is full");
  memory->self = memory;
  memory->context = context_id(stream);
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

void cancel_end(const std::shared_ptr<PoolAllocation>& memory) {
  const PoolsLock lock = lock_pools();
  if (memory->self != nullptr) return;
  memory->pool->used += memory->charged;
  memory->self = memory;
  finish_pending(*memory);
}

CUresult claim_free(PoolAllocation& memory, bool by_own_graph,
                    std::shared_ptr<const FreeClaim>& claim) {
  const PoolsLock lock = lock_pools();
  if (!memory.of_graph)
    return refuse(CUDA_ERROR_INVALID_VALUE, "a graph can free memory of graphs only");
  std::erase_if(memory.claims, [](const auto& each) { return each.expired(); });
  if (is_claimed_by_own_graph(memory) || (by_own_graph && !memory.claims.empty()))
    return refuse(CUDA_ERROR_INVALID_VALUE, "a node of this or another graph frees this memory");
  claim = std::make_shared<const FreeClaim>(FreeClaim{by_own_graph});
  memory.claims.push_back(claim);
  return CUDA_SUCCESS;
}

bool is_freed_by_own_graph(PoolAllocation& memory) {
  const PoolsLock lock = lock_pools();
  return is_claimed_by_own_graph(memory);
}

std::uint64_t pool_owner_of(std::uint64_t address) {
  const std::shared_ptr<PoolAllocation> memory = pool_allocation_at(address);
  if (memory == nullptr || memory->address != address) return 0;
  const PoolsLock lock = lock_pools();
  return memory->context;
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

void set_access_of_pool(Pool& pool, std::span<const CUmemAccessDesc> list) {
  const auto all = all_memory();
  const PoolsLock lock = lock_pools();
  for (const CUmemAccessDesc& each : list) set_access_bits(each, pool.readers, pool.writers);
  for (const auto& memory : all) {
    if (memory->pool.get() != &pool || memory->of_graph) continue;
    memory->readers = pool.readers;
    memory->writers = pool.writers;
    if (memory->mapped) show(*memory);
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
  if (is_freed_by_own_graph(*memory))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the graph that allocates this memory frees it");
  CUDA_TWIN_TRY(end_use(*memory, nullptr));
  return perform_free(*memory);
}

std::shared_ptr<PoolAllocation> pool_allocation_at(std::uint64_t address) {
  std::shared_ptr<PoolAllocation> memory;
  const PoolsLock lock = lock_pools();
  auto& table = driver().pool_allocations;
  auto at = table.upper_bound(address);
  if (at == table.begin()) return nullptr;
  --at;
  memory = at->second.lock();
  if (memory == nullptr) {
    table.erase(at);
    return nullptr;
  }
  return address - memory->address < memory->bytes ? memory : nullptr;
}

PoolUse pool_use() {
  const auto all = all_memory();
  const PoolsLock lock = lock_pools();
  PoolUse use;
  for (const auto& memory : all) {
    if (memory->self == nullptr && !memory->mapped) continue;
    ++use.allocations;
    use.bytes += memory->bytes;
  }
  return use;
}

void free_pool_memory_of(const Context& context) {
  const auto all = all_memory();
  const PoolsLock lock = lock_pools();
  for (const auto& memory : all) {
    if (memory->context != context.id) continue;
    if (memory->self != nullptr) memory->pool->used -= memory->charged;
    memory->self = nullptr;
    finish_pending(*memory);
    unmap(*memory);
  }
}

void drop_pools() {
  auto all = all_memory();
  {
    const PoolsLock lock = lock_pools();
    for (const auto& memory : all) memory->self = nullptr;
    driver().pool_allocations.clear();
  }
  all.clear();
  driver().pools.clear();
  for (const auto& device : driver().devices) {
    device->default_pool = nullptr;
    device->current_pool = nullptr;
  }
}

}  // namespace cuda_twin
