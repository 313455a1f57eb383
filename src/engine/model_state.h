// The state of a loaded model.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device_set.h"
#include "engine/pinned_ranges.h"
#include "engine/step_set.h"
#include "model/definition.h"
#include "schedule/place/optimize/optimize_cache.h"
#include "shunt/engine.h"
#include "shunt/ledger.h"

namespace shunt {

/// Weights whose type on their device is not that of the file.
using Transcoded = std::map<const gguf::TensorInfo*, TranscodedWeight>;
/// The same for the leaves of a graph.
std::vector<LeafType> leaf_types(std::span<const WeightLeaf> weights, const Transcoded& types);

/// Once loaded it is const, and shared by the model and its sessions. A copy shares the memory.
struct ModelState {
  explicit ModelState(gguf::File opened) : file(std::move(opened)) {}

  gguf::File file;
  std::shared_ptr<const ModelDefinition> definition;
  ModelInfo info;
  DeviceSet devices;
  std::optional<PlacementFile> placement;  ///< the user's file to follow
  std::vector<Pin> pins;
  /// By part of split weights and caches: the device that it is meant for. None: nothing is split.
  std::vector<const Device*> part_devices;
  std::shared_ptr<const CostModel> costs = std::make_shared<const CostModel>();
  Transcode transcode = Transcode::kPrecise;
  WeightMode weight_mode = WeightMode::kAuto;
  bool rules_only = false;
  /// Searches that placements of its steps have made.
  std::shared_ptr<OptimizeCache> searches = std::make_shared<OptimizeCache>();
  /// Graphs of its steps, and their placements.
  std::shared_ptr<StepSet> steps = std::make_shared<StepSet>();
  std::int64_t stream_rows = PlaceOptions{}.stream_rows;
  PerDevice<std::vector<std::shared_ptr<Buffer>>> buffers;  ///< of weights
  /// The parts of the file, if a device uses weights in place there; else none.
  std::vector<std::shared_ptr<Buffer>> mapped_parts;
  /// Weights that are copied when they come to the CPU, and the memory they are copied to. Other
  /// ones, and those that come there from another device, are used from the mapped file if the CPU
  /// can.
  std::map<const gguf::TensorInfo*, BufferType*> copied;
  /// By device: weights that are in other memory of it than its memory(), if they come there.
  std::map<const Device*, std::map<const gguf::TensorInfo*, BufferType*>> in_layouts;
  /// A line for each form of weights that some user of theirs refuses on a device, though it is
  /// cheaper than the one that they get.
  std::vector<std::string> dropped_forms;
  std::map<const gguf::TensorInfo*, Address> weights;    ///< of each loaded weight
  std::map<const gguf::TensorInfo*, DeviceIndex> homes;  ///< on which of the devices; the same keys
  /// Those that have another type there. Used from the CPU instead, a weight is as in the file.
  Transcoded transcoded;
  /// Those in a lossy form of their device's own, as of their type.
  Transcoded lossy;
  /// Weights in host memory that devices have pinned (Device::pin_host()).
  PinnedRanges pinned_weights;
  std::vector<DeviceIndex> cache_homes;  ///< devices for a session's caches
  bool short_of_room = false;            ///< some may be elsewhere for lack of memory
  PerDevice<bool> used;                  ///< plans use the device
  bool overlap = true;                   ///< there was room for steps that overlap
  /// The most bytes of weights that are sent to each of the devices for one op.
  PerDevice<std::uint64_t> most_streamed;
  std::optional<std::uint64_t> memory_margin;
  SessionOptions session;  ///< the session to leave room for; complete()
  FallbackPolicy fallback;
  std::size_t fell_back = 0;  ///< operations of a step, as reported when it was loaded
  DeviceErrorPolicy on_device_error;
  Ledger predicted;  ///< of the weights and of a session as it was announced
  Ledger ledger;     ///< of the weights
  std::vector<std::string> notes;
  std::vector<std::string> left_out;  ///< a note for each device that failed

  /// Both, in the order of the file.
  std::vector<TranscodedWeight> all_transcoded() const;
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
