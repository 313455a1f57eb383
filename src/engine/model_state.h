// The state of a loaded model.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device_set.h"
#include "engine/load/loaded_adapters.h"
#include "engine/load/step_set.h"
#include "engine/load/weight_store.h"
#include "model/definition.h"
#include "schedule/place/optimize/optimize_cache.h"
#include "shunt/engine.h"
#include "shunt/ledger.h"

namespace shunt {

/// The leaves of a graph whose type in memory is not that of the file.
std::vector<LeafType> leaf_types(std::span<const WeightLeaf> weights, const Transcoded& types);

/// The policy with costs, which may have none: without measurements they are estimates.
PlacementPolicy with_costs(PlacementPolicy policy);

/// The result of fitting the model and a session into memory, beside the weights' homes.
struct Residency {
  std::vector<DeviceIndex> caches;  ///< devices for a session's caches
  PerDevice<bool> used;             ///< there was use for the device
  /// The most bytes of weights that are sent to each of the devices for one op.
  PerDevice<std::uint64_t> most_streamed;
  bool overlap = true;         ///< there was room for steps that overlap
  bool short_of_room = false;  ///< some leaves may be elsewhere for lack of memory
};

/// Once loaded it is const, and shared by the model and its sessions. A copy shares the memory.
struct ModelState {
  explicit ModelState(gguf::File opened) : file(std::move(opened)) {}

  gguf::File file;
  std::shared_ptr<const ModelDefinition> definition;
  LoadedAdapters adapters;
  ModelInfo info;
  DeviceSet devices;
  /// Costs are never null. After loading, fallback.log is on_device_error.log.
  PlacementPolicy placement = with_costs({});
  /// By part of split weights and caches: the device that it is meant for. None: nothing is split.
  std::vector<const Device*> part_devices;
  WeightMode weight_mode = WeightMode::kAuto;
  /// Searches that placements of its steps have made.
  std::shared_ptr<OptimizeCache> searches = std::make_shared<OptimizeCache>();
  /// Graphs of its steps, and their placements.
  std::shared_ptr<StepSet> steps = std::make_shared<StepSet>();
  WeightStore weights;
  /// A line for each form of weights that some user of theirs refuses on a device, though it is
  /// cheaper than the one that they get.
  std::vector<std::string> dropped_forms;
  Residency residency;
  std::optional<std::uint64_t> memory_margin;
  SessionOptions session;     ///< the session to leave room for; complete()
  std::size_t fell_back = 0;  ///< operations of a step, as reported when it was loaded
  DeviceErrorPolicy on_device_error;
  Ledger predicted;  ///< of the weights and of a session as it was announced
  Ledger ledger;     ///< of the weights
  std::vector<std::string> notes;
  std::vector<std::string> left_out;  ///< a note for each device that failed

  /// A weight in the mapped file; empty if it can't be used there.
  Address mapped_address(const gguf::TensorInfo& tensor) const;
  /// The memory that a weight gets when it comes to a device; null: none, it is used from the
  /// mapped file.
  BufferType* memory_to_fill(const gguf::TensorInfo& tensor, DeviceIndex device) const;
  /// The kind of memory that a weight has on a device, or would have.
  const BufferType& memory_type(const gguf::TensorInfo& tensor, DeviceIndex device) const;
  /// The graph of a step, with weights of other types where that is so.
  Result<std::shared_ptr<const StepGraph>> build(const StepShape& shape,
                                                 const Transcoded& types = {}) const;
  Result<std::shared_ptr<const StepGraph>> with_types(const std::shared_ptr<const StepGraph>& step,
                                                      const Transcoded& types) const;
  /// The memory of a step graph's weights.
  std::vector<LeafMemory> memory_of(const StepGraph& step) const;
  /// Places a step's graph: by the user's file if there is one, else by rules.
  /// `among`: those of the devices that are to be used; `stream_bytes` and `parts` as in
  /// PlaceOptions.
  Result<Placement> place_step(const std::shared_ptr<const StepGraph>& step,
                               std::span<const LeafMemory> memory, std::span<Device* const> among,
                               std::span<const std::uint64_t> stream_bytes = {},
                               std::span<const PartHome> parts = {}) const;
  /// The same among all devices, as if no leaf had its place yet.
  Result<Placement> place_freely(const std::shared_ptr<const StepGraph>& step) const;
};

}  // namespace shunt
