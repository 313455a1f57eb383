#include "cuda/driver/pool_accounts.h"
#include "cuda/driver/round_up.h"

#include <algorithm>

namespace cuda_twin {
namespace {

/// A pool takes memory of the device in blocks, smaller ones where the device is nearly full.
constexpr std::uint64_t kPoolBlock = std::uint64_t{32} << 20;
constexpr std::uint64_t kSmallBlock = std::uint64_t{2} << 20;

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

/// Takes memory of the device until the pool has `bytes` in all.
bool grow(Pool& pool, std::uint64_t bytes) {
  const std::uint64_t missing = bytes - pool.reserved;
  for (const std::uint64_t unit : {kPoolBlock, kSmallBlock}) {
    const std::uint64_t more = round_up(missing, unit);
    if (!charge(*pool.device, more)) continue;
    pool.reserved += more;
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
    return true;
  }
  return false;
}

/// Takes back the spare memory of all pools of the device.
void release_spare(const Device& device) {
  for (const auto& pool : driver().pools.all())
    if (pool->device == &device) shrink(*pool, 0);
}

bool has_room(const Pool& pool, std::uint64_t charged) {
  const std::uint64_t most = pool.props.maxSize;
  return most == 0 || (charged <= most && pool.used <= most - charged);
}

}  // namespace

void shrink(Pool& pool, std::uint64_t keep) {
  const std::uint64_t target =
      std::min(pool.reserved, round_up(std::max(keep, outstanding(pool)), kPoolBlock));
  refund(*pool.device, pool.reserved - target);
  pool.reserved = target;
}

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

Pool::~Pool() {
  if (device != nullptr) refund(*device, reserved);
}

}  // namespace cuda_twin
