// The limits for allocations on a device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "device/device_set.h"

namespace shunt {

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// The limits of a device's memory.
struct DeviceLimit {
  std::uint64_t free = 0;        ///< bytes; 0 if that is not known: then there is no limit
  std::uint64_t margin = 0;      ///< of these, reserved
  std::uint64_t cap = kNoLimit;  ///< the device refused more than this
  bool pooled = false;           ///< its memory is the host's: unified memory with the CPU

  /// Free without the margin.
  std::uint64_t known() const { return free == 0 ? kNoLimit : free - std::min(free, margin); }
  std::uint64_t usable() const { return std::min(known(), cap); }
};

/// As they are now. `margin`: bytes reserved on each device but the CPU. If not given, 5% of the
/// free bytes, but at least 64 MiB, but at most a quarter. All memory of the host counts as free:
/// the system's page cache makes room when it is needed.
PerDevice<DeviceLimit> device_limits(std::span<Device* const> devices,
                                     std::optional<std::uint64_t> margin);

/// A smaller limit after `planned` bytes were refused for the n-th time (from 0): slightly smaller
/// at first, then in growing steps, down to 0.
std::uint64_t lower_cap(std::uint64_t planned, int attempt);

}  // namespace shunt
