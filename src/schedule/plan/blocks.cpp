#include "schedule/plan/blocks.h"

#include "device/device_set.h"

namespace shunt {

std::vector<MemoryUse> memory_use(std::span<const PlanBlock> blocks,
                                  std::span<Device* const> devices, std::size_t steps_in_flight) {
  PerDevice<MemoryUse> uses(devices.size());
  for (const DeviceIndex device : uses.indices()) uses[device].device = device;
  for (const PlanBlock& block : blocks) {
    const std::size_t bytes = block.own ? steps_in_flight * block.bytes : block.bytes;
    MemoryUse& use = uses[block.device];
    use.*block.use += bytes;
    if (block.pinned) use.pinned += bytes;
  }
  return uses;
}

}  // namespace shunt
