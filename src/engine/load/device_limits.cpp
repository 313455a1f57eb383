#include "engine/load/device_limits.h"

namespace shunt {

namespace {

constexpr std::uint64_t kLeastMargin = std::uint64_t{64} << 20;

}  // namespace

PerDevice<DeviceLimit> device_limits(std::span<Device* const> devices,
                                     std::optional<std::uint64_t> margin) {
  PerDevice<DeviceLimit> limits;
  for (Device* device : devices) {
    const DeviceInfo info = device->info();
    DeviceLimit limit;
    if (info.kind == DeviceKind::kCpu) {
      limit.free = info.memory_total;
    } else {
      limit.free = device->memory_free();
      limit.pooled = info.host_memory;
      limit.margin =
          margin.value_or(std::min(std::max(limit.free / 20, kLeastMargin), limit.free / 4));
    }
    limits.push_back(limit);
  }
  return limits;
}

std::uint64_t lower_cap(std::uint64_t planned, int attempt) {
  if (planned < 4096) return 0;
  return planned - (planned >> std::max(3 - attempt, 1));
}

}  // namespace shunt
