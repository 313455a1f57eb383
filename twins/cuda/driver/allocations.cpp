// Accounting of device memory. An allocation takes its bytes rounded up to 512. Small ones share
// blocks of 2 MiB of the device; one above 1 MiB has blocks of its own.
#include "cuda/call.h"
#include "cuda/driver/lifetime.h"
#include "cuda/driver/round_up.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

constexpr std::uint64_t kGranule = 512;
constexpr std::uint64_t kBlock = std::uint64_t{2} << 20;
constexpr std::uint64_t kLarge = std::uint64_t{1} << 20;

std::uint64_t charged_for(std::uint64_t bytes) {
  return bytes > kLarge ? round_up(bytes, kBlock) : round_up(bytes, kGranule);
}

std::uint64_t used_bytes(std::uint64_t small, std::uint64_t large) {
  return round_up(small, kBlock) + large;
}

std::mutex accounts;  // of all devices: charging is rare

/// Managed memory moves to a device as that uses it, and may exceed the device's.
bool is_charged(MemoryKind kind) {
  return kind != MemoryKind::kManaged;
}

}  // namespace

bool charge(Device& device, std::uint64_t bytes) {
  if (bytes > device.memory_bytes) return false;
  const std::uint64_t charged = charged_for(bytes);
  const std::lock_guard lock(accounts);
  const std::uint64_t small = device.small_bytes + (charged < kBlock ? charged : 0);
  const std::uint64_t large = device.large_bytes + (charged < kBlock ? 0 : charged);
  if (used_bytes(small, large) > device.memory_bytes) return false;
  device.small_bytes = small;
  device.large_bytes = large;
  return true;
}

void refund(Device& device, std::uint64_t bytes) {
  const std::uint64_t charged = charged_for(bytes);
  const std::lock_guard lock(accounts);
  (charged < kBlock ? device.small_bytes : device.large_bytes) -= charged;
}

std::uint64_t free_bytes(const Device& device) {
  const std::lock_guard lock(accounts);
  return device.memory_bytes - used_bytes(device.small_bytes, device.large_bytes);
}

CUresult allocate(Device& device, const Context* owner, std::uint64_t bytes, MemoryKind kind,
                  ExtentPtr& extent) {
  Driver& state = driver();
  if (fault_is_due(Setting::kFailAllocation)) {
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "CUDA_TWIN_FAIL_ALLOCATION");
  }
  if (is_charged(kind) && !charge(device, bytes)) {
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, std::to_string(bytes) + " bytes do not fit into " +
                                                std::to_string(free_bytes(device)) +
                                                " free bytes of the device");
  }
  extent = state.space->allocate(bytes, kGranule, device.ordinal, kind);
  if (extent == nullptr) {
    if (is_charged(kind)) refund(device, bytes);
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory for the twin's device");
  }
  const std::lock_guard lock(state.memory_mutex);
  state.allocations[extent->begin] = {bytes, kind, &device, owner == nullptr ? 0 : owner->id};
  return CUDA_SUCCESS;
}

std::uint64_t owner_of(std::uint64_t address) {
  Driver& state = driver();
  const std::lock_guard lock(state.memory_mutex);
  const auto device = state.allocations.find(address);
  if (device != state.allocations.end()) return device->second.context;
  const auto host = state.hosts.find(address);
  return host == state.hosts.end() ? 0 : host->second.context;
}

CUresult release(std::uint64_t address, MemoryKind kind) {
  Driver& state = driver();
  Allocation freed;
  {
    const std::lock_guard lock(state.memory_mutex);
    const auto at = state.allocations.find(address);
    if (at == state.allocations.end() || at->second.kind != kind) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "no allocation begins at this address");
    }
    freed = at->second;
    state.allocations.erase(at);
  }
  state.space->remove(address);
  if (is_charged(kind)) refund(*freed.device, freed.bytes);
  return CUDA_SUCCESS;
}

void free_memory_of(Context& context) {
  Driver& state = driver();
  std::vector<std::pair<std::uint64_t, MemoryKind>> mine;
  {
    const std::lock_guard lock(state.memory_mutex);
    for (const auto& [address, allocation] : state.allocations) {
      if (allocation.context == context.id) mine.emplace_back(address, allocation.kind);
    }
  }
  for (const auto& [address, kind] : mine) (void)release(address, kind);
}

}  // namespace cuda_twin
