// How much of a device's memory its pools hold. Callers hold Driver::pools_mutex.
#pragma once

#include <mutex>

#include "cuda/driver/pools.h"

namespace cuda_twin {

using PoolsLock = std::unique_lock<std::mutex>;
inline PoolsLock lock_pools() {
  return PoolsLock(driver().pools_mutex);
}

/// Counts an allocation by `stream`, whose own frees it may reuse before their turn. False if the
/// pool has a largest size, or the device is full.
bool take(Pool& pool, std::uint64_t charged, const Stream* stream);
/// Gives whole blocks back to the device, but keeps `keep` bytes and those that are in use.
void shrink(Pool& pool, std::uint64_t keep);

}  // namespace cuda_twin
