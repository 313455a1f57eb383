// The devices of a placement or a model. They are in the order of their priority, and the last one
// is the CPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/indexed_vector.h"
#include "shunt/device.h"

namespace shunt {

/// The number of a device in a DeviceSet.
using DeviceIndex = int;
inline constexpr DeviceIndex kNoDevice = -1;

/// The numbers of a set's devices.
class DeviceIndices : public IndexRange<DeviceIndex> {
 public:
  explicit constexpr DeviceIndices(std::size_t devices)
      : IndexRange(0, static_cast<DeviceIndex>(devices)) {}

  /// kNoDevice if there are no devices.
  constexpr DeviceIndex cpu() const { return size() - 1; }
  constexpr bool is_cpu(DeviceIndex device) const { return size() > 0 && device == cpu(); }
  /// All but the CPU.
  constexpr IndexRange<DeviceIndex> accelerators() const { return {0, cpu()}; }
};

/// The device numbers of a container with one element for each device.
template <class Container>
class DeviceIndexed : public Container {
 public:
  using Container::Container;
  DeviceIndexed() = default;

  DeviceIndices indices() const { return DeviceIndices(this->size()); }
  DeviceIndex cpu() const { return indices().cpu(); }
  bool is_cpu(DeviceIndex device) const { return indices().is_cpu(device); }
  IndexRange<DeviceIndex> accelerators() const { return indices().accelerators(); }
  /// The element of the CPU. There must be devices.
  decltype(auto) of_cpu() { return (*this)[cpu()]; }
  decltype(auto) of_cpu() const { return (*this)[cpu()]; }
};

/// A value for each device of a set.
template <class T>
class PerDevice : public DeviceIndexed<IndexedVector<DeviceIndex, T>> {
 public:
  using DeviceIndexed<IndexedVector<DeviceIndex, T>>::DeviceIndexed;
  PerDevice() = default;
};

/// The values of all devices, where they are.
template <class T>
class DeviceSpan : public DeviceIndexed<IndexedSpan<DeviceIndex, T>> {
 public:
  using DeviceIndexed<IndexedSpan<DeviceIndex, T>>::DeviceIndexed;
};

/// Devices by falling priority, the CPU last. They must outlive it.
class DeviceSet : public PerDevice<Device*> {
 public:
  DeviceSet() = default;
  explicit DeviceSet(std::span<Device* const> devices)
      : PerDevice<Device*>(devices.begin(), devices.end()) {}

  /// Whether the last device is a CPU. Callers check this for sets that they did not make.
  bool has_cpu() const { return !empty() && of_cpu()->info().kind == DeviceKind::kCpu; }
  Device& cpu_device() const { return *of_cpu(); }
  /// kNoDevice if it is not among them.
  DeviceIndex find(const Device* device) const {
    const auto found = std::find(begin(), end(), device);
    return found == end() ? kNoDevice : static_cast<DeviceIndex>(found - begin());
  }
};

/// Of devices that come as a plain span, such as Placement::devices.
inline Device& device_at(std::span<Device* const> devices, DeviceIndex device) {
  return *DeviceSpan<Device* const>(devices)[device];
}
inline DeviceIndex cpu_of(std::span<Device* const> devices) {
  return DeviceIndices(devices.size()).cpu();
}

}  // namespace shunt
