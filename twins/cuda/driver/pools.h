// Stream-ordered memory: pools, and allocations whose storage comes and goes in a stream's turn.
// Addresses are not given out twice; reuse is in the accounting only, so that a use after the free
// is noticed. Driver::pools_mutex guards everything here.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "cuda/driver/state.h"

namespace cuda_twin {

/// Memory that was freed, until the free's turn has come: other streams may not count on it.
struct PendingFree {
  const Stream* stream = nullptr;
  std::uint64_t bytes = 0;
};

struct Pool {
  Device* device = nullptr;
  CUmemoryPool handle = nullptr;
  CUmemPoolProps props{};
  bool is_default = false;
  std::uint32_t readers = 0, writers = 0;  ///< bit d: device d may use its memory

  std::uint64_t release_threshold = 0;
  int reuse[3] = {1, 1, 1};  ///< CU_MEMPOOL_ATTR_REUSE_...: kept, and all reuse is allowed
  std::uint64_t reserved = 0, reserved_high = 0;  ///< of the device's memory
  std::uint64_t used = 0, used_high = 0;          ///< allocated, and no free submitted
  std::list<PendingFree> pending;

  ~Pool();
};

/// A node of a graph or an executable graph frees memory as long as this lives.
struct FreeClaim {
  bool by_own_graph = false;  ///< by the graph that allocates it
};

/// One allocation, of a pool or of a graph's node. Works hold it, and so does `self` while the
/// program may use it; its address ends with it.
struct PoolAllocation {
  std::shared_ptr<Pool> pool;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;    ///< as asked for
  std::uint64_t charged = 0;  ///< rounded up
  std::shared_ptr<Space> space;
  std::shared_ptr<PoolAllocation> self;  ///< from the allocation's submission to the free's
  std::uint64_t context = 0;             ///< id of that whose stream allocated it
  bool mapped = false;                   ///< between the turns of the two
  std::shared_ptr<Extent> storage;       ///< while it is mapped
  std::list<PendingFree>::iterator pending;
  bool is_pending = false;

  std::uint32_t readers = 0, writers = 0;  ///< bit d: device d may use it

  bool of_graph = false;
  std::vector<std::weak_ptr<const FreeClaim>> claims;  ///< of nodes that free it

  PoolAllocation() = default;
  PoolAllocation(const PoolAllocation&) = delete;
  PoolAllocation& operator=(const PoolAllocation&) = delete;
  ~PoolAllocation();
};

/// In the stream's turn. For perform().
CUresult perform_allocation(PoolAllocation& memory);
CUresult perform_free(PoolAllocation& memory);

/// cuMemFree of an address of a pool, when no work uses it any more. `found` is false for any other
/// address.
CUresult free_pool_memory(std::uint64_t address, bool& found);
/// The allocation that begins at or holds this address, or null.
std::shared_ptr<PoolAllocation> pool_allocation_at(std::uint64_t address);

/// A new address without storage, for a stream.
CUresult reserve_memory(const std::shared_ptr<Pool>& pool, std::uint64_t bytes,
                        std::shared_ptr<PoolAllocation>& memory);
/// The same for a node of a graph, with more access than the pool's memory has.
CUresult reserve_graph_memory(const std::shared_ptr<Pool>& pool, std::uint64_t bytes,
                              std::span<const CUmemAccessDesc> more,
                              std::shared_ptr<PoolAllocation>& memory);
/// The accounting of an allocation or a free that `stream` will execute, at the call.
CUresult begin_use(const std::shared_ptr<PoolAllocation>& memory, const Stream* stream);
CUresult end_use(PoolAllocation& memory, const Stream* stream);
bool is_in_use(const PoolAllocation& memory);
/// Takes back a begin_use() whose allocation was not submitted.
void cancel_use(PoolAllocation& memory);
/// Takes back an end_use() whose free was not submitted.
void cancel_end(const std::shared_ptr<PoolAllocation>& memory);
/// A node is about to free the memory of a graph: the graph that allocates it, or another one.
/// One graph frees it, and its own only if no other does.
CUresult claim_free(PoolAllocation& memory, bool by_own_graph,
                    std::shared_ptr<const FreeClaim>& claim);
bool is_freed_by_own_graph(PoolAllocation& memory);
/// The id of the context whose stream allocated the memory that begins there; 0: none.
std::uint64_t pool_owner_of(std::uint64_t address);

/// The pool that every device has from the start.
std::shared_ptr<Pool> default_pool(Device& device);
/// cuMemPoolSetAttribute and cuMemPoolGetAttribute.
CUresult set_pool_attribute(Pool& pool, CUmemPool_attribute attribute, const void* value);
CUresult get_pool_attribute(Pool& pool, CUmemPool_attribute attribute, void* value);
/// Pools give back memory beyond their release thresholds. For calls that synchronize.
void release_pool_memory(Device& device);
/// Changes the access of a pool and of its memory. The entries are valid.
void set_access_of_pool(Pool& pool, std::span<const CUmemAccessDesc> list);
/// Down to `keep` bytes, or to those in use.
void trim_pool(Pool& pool, std::uint64_t keep);
/// Allocations in use and their bytes, for counts of live objects.
struct PoolUse {
  std::uint64_t allocations = 0, bytes = 0;
};
PoolUse pool_use();
/// Memory that the context's streams allocated, when the context ends.
void free_pool_memory_of(const Context& context);
/// For cuda_twin_reset() and the end of a device's contexts.
void drop_pools();

}  // namespace cuda_twin
