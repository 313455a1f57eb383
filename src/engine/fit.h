// Which weights and caches fit where: devices are filled by priority, layer after layer, until they
// are full; the rest goes to the next one, and in the end to the CPU.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/device_limits.h"
#include "engine/model_state.h"
#include "shunt/ledger.h"

namespace shunt {

/// Where leaves that outlive a step lie: indices into ModelState::devices.
struct Homes {
  std::map<const gguf::TensorInfo*, int> weights;
  std::vector<int> caches;  ///< in the order of StepGraph::caches
};

struct FitRequest {
  std::vector<StepShape> steps;  ///< whose plans are there at the same time
  std::vector<DeviceLimit> limits;
  /// By device: whether plans may use it. Empty: all.
  std::vector<bool> used = {};
  /// Weights that are there already: each stays where it is, or is used from the CPU. May lack
  /// some; null while there are none.
  const std::map<const gguf::TensorInfo*, int>* loaded = nullptr;
  /// Caches that are there already, and stay. Null while none is.
  const std::vector<int>* caches = nullptr;
  /// Where caches go if they fit there. Null: beside the weights of their layer.
  const std::vector<int>* wanted_caches = nullptr;
  /// By device: the most bytes of weights that may be sent there for one op. Empty: no limit.
  std::vector<std::uint64_t> most_streamed = {};
};

/// What was decided. Nothing has been allocated for it.
struct Fit {
  Homes homes;
  Transcoded transcoded;               ///< weights that have another type where they are
  std::vector<Device*> devices;        ///< those that are used, by falling priority
  std::vector<bool> used;              ///< the same, by device of the model
  Ledger ledger;                       ///< what will be allocated, beside what is there already
  std::vector<std::uint64_t> planned;  ///< the same in all, by device of the model
  /// The most bytes of weights that are sent for one op, by device of the model; and the same by
  /// those that are used, as PlaceOptions wants it.
  std::vector<std::uint64_t> most_streamed;
  std::vector<std::uint64_t> stream_bytes;
  std::vector<std::string> notes;  ///< what was decided, a line a device
  bool short_of_room = false;      ///< a device has less than it would if it had more memory
};

/// OutOfMemory, with the numbers, if the CPU has too little for what is left for it, or a device
/// for what the user wants there, or the pool that it shares with the CPU for that of all of them.
Result<Fit> fit_model(const ModelState& model, const FitRequest& request);

/// The same if memory and buffers had no end, and nothing were loaded yet: what is elsewhere in
/// fit_model()'s is so for want of room. `planned` is then all that would be needed; at least,
/// where no device has buffers that large.
Result<Fit> fit_endless(const ModelState& model, std::span<const StepShape> steps);

}  // namespace shunt
