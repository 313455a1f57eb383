// The line that describes a device's share of a model.
#pragma once

#include <string>

#include "engine/load/device_limits.h"
#include "engine/load/fit_leaves.h"
#include "engine/load/fit_predict.h"

namespace shunt {

/// Layers of which a device has weights.
struct LayersOnDevice {
  std::int64_t count = 0;
  std::int64_t of = 0;  ///< layers of the model
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::uint64_t beside = 0;  ///< weights on the device that are of no layer
};
LayersOnDevice layers_on(DeviceIndex device, std::span<const FitLeaf> leaves,
                         std::span<const FitUnit> units, std::span<const DeviceIndex> homes);

struct DeviceShare {
  std::string device;
  bool is_cpu = false;
  LayersOnDevice layers = {};
  DeviceBytes takes = {};
  DeviceLimit limit = {};
  std::string pool_with = {};    ///< the devices that share its memory, if any do
  std::uint64_t pool_takes = 0;  ///< bytes of all of these and its own
  OwnMemory own = {};            ///< memory of the device outside of buffers
  bool managed = false;          ///< DeviceInfo::managed_memory
};
/// `"test0: layers 0 to 3 (4 of 5) and 1 other weight, 1.7 MiB of 1.0 GiB (64.0 MiB
/// reserved); 16.0 KiB of it for streamed weights; unified memory with cpu0,
/// together 2.6 MiB; the device itself takes 320.0 MiB (context 300.0 MiB, graphs 20.0 MiB)"`. With
/// managed memory "(64.0 MiB reserved) of managed memory, which may exceed the device's". The CPU,
/// which takes the rest, has none of what follows its bytes.
std::string to_line(const DeviceShare& share);

}  // namespace shunt
