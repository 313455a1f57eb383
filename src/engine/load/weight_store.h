// The weights of a model in memory.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "device/device_set.h"
#include "engine/load/pinned_ranges.h"
#include "shunt/explain.h"
#include "shunt/gguf.h"
#include "shunt/plan.h"

namespace shunt {

/// Weights whose type in memory is not that of the file.
using Transcoded = std::map<const gguf::TensorInfo*, TranscodedWeight>;

/// All facts about one weight. The memory that devices want is decided before anything is loaded.
struct WeightRecord {
  /// Memory that the CPU copies the weight to when it comes there. Null: the CPU uses the mapped
  /// file, if it can.
  BufferType* copy = nullptr;
  /// Devices that get the weight in other memory than their memory(), with that memory.
  std::map<const Device*, BufferType*> layouts = {};

  DeviceIndex home = kNoDevice;  ///< the device that it is loaded on; kNoDevice: none yet
  Address address = {};          ///< once it is loaded
  /// Another type than that of the file. Used from the CPU instead, a weight is as in the file.
  std::optional<TranscodedWeight> transcoded = {};
  std::optional<TranscodedWeight> lossy = {};  ///< a lossy form of the device's own, as of a type

  bool is_loaded() const { return home != kNoDevice; }
};

/// A record for each weight, and the memory that they are in. A copy shares the memory.
struct WeightStore {
  std::map<const gguf::TensorInfo*, WeightRecord> records;
  PerDevice<std::vector<std::shared_ptr<Buffer>>> buffers;  ///< by device
  /// The parts of the file, if a device uses weights in place there; else none.
  std::vector<std::shared_ptr<Buffer>> mapped_parts;
  /// Weights in host memory that devices have pinned (Device::pin_host()).
  PinnedRanges pinned;

  /// The record of a weight; an empty one if there is none.
  const WeightRecord& at(const gguf::TensorInfo* weight) const;
  bool is_on(const gguf::TensorInfo* weight, DeviceIndex device) const {
    return device != kNoDevice && at(weight).home == device;
  }
  bool any_loaded() const;
  /// Whether the CPU copies a weight.
  bool any_copied() const;
  /// The devices of the weights that are loaded.
  std::map<const gguf::TensorInfo*, DeviceIndex> homes() const;
  /// Those that have another type than the file.
  Transcoded transcoded() const;
  /// Transcoded weights, and those in a lossy form, in the order of the file.
  std::vector<TranscodedWeight> all_transcoded() const;

  /// Forgets where a weight is.
  static void unload(WeightRecord& record);
  /// Frees memory that no loaded weight is in.
  void free_unused();
  /// Forgets all that a device holds. Devices behind it move up by one.
  void erase_device(DeviceIndex device);
};

}  // namespace shunt
