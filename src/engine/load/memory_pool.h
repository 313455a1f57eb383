// Devices whose memory is the host's: they and the CPU allocate from unified memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/device_set.h"
#include "engine/load/device_limits.h"

namespace shunt {

/// The bytes requested from the pool. The CPU alone may ask for all memory of the host. Where
/// others ask with it, all of them together have the free memory.
struct MemoryPool {
  std::vector<DeviceIndex> devices = {};  ///< by falling priority; not the CPU
  std::uint64_t asked = 0;                ///< bytes, by them and the CPU
  DeviceLimit limit = {};                 ///< of these devices, the one with the smallest limit

  std::uint64_t usable() const { return limit.known(); }
  bool is_short() const { return asked > usable(); }
};

/// `asked`: bytes.
MemoryPool memory_pool(DeviceSpan<const DeviceLimit> limits, DeviceSpan<const std::uint64_t> asked);

/// Those that a device shares the pool with: "test1 and cpu0"; empty if its memory is its own.
std::string names_in_pool(DeviceIndex device, DeviceSpan<const DeviceLimit> limits,
                          DeviceSpan<const std::string> names);

/// "test0 (1.0 MiB) with cpu0 (2.0 MiB), unified memory, needs 3.0 MiB (3145728 bytes), but has
/// 2.0 MiB (2097152 bytes)".
std::string to_text(const MemoryPool& pool, DeviceSpan<const std::uint64_t> asked,
                    DeviceSpan<const std::string> names);

}  // namespace shunt
