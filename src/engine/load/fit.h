// Which weights and caches fit where: devices are filled by priority, layer after layer, until they
// are full; the rest goes to the next one, and in the end to the CPU.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/load/fit_request.h"
#include "engine/load/homes.h"
#include "engine/load/host_layout.h"
#include "engine/model_state.h"
#include "shunt/ledger.h"

namespace shunt {

/// The decisions. Nothing has been allocated for them.
struct Fit {
  Homes homes;
  Transcoded transcoded;             ///< weights that have another type where they are
  std::vector<Device*> devices;      ///< those that are used, by falling priority
  PerDevice<bool> used;              ///< the same, by device of the model
  Ledger ledger;                     ///< to be allocated, in addition to the memory in use
  PerDevice<std::uint64_t> planned;  ///< the same in all, by device of the model
  /// The most bytes of weights that are sent for one op, by device of the model; and the same for
  /// the devices that are used, in the form of PlaceOptions::stream_bytes.
  PerDevice<std::uint64_t> most_streamed;
  std::vector<std::uint64_t> stream_bytes;
  std::vector<std::string> notes;  ///< the decisions, a line for each device
  HostLayout host = {};            ///< host memory for blocks of the cache; no slots: none
  bool overlap = false;            ///< there is room for steps_in_flight(); else for one
  bool short_of_room = false;      ///< a device has less than it would if it had more memory
};

/// OutOfMemory, with the numbers, if the CPU has too little for its remaining part. The same if a
/// device has too little for the nodes that the user pinned to it. The same if the pool that a
/// device shares with the CPU has too little for all of them.
Result<Fit> fit_model(const ModelState& model, const FitRequest& request);

/// The same with unlimited memory and buffers, and nothing loaded yet. A leaf that the result of
/// fit_model() places elsewhere did not fit. `planned` is then all that would be needed; at least,
/// where no device has buffers that large.
Result<Fit> fit_endless(const ModelState& model, std::span<const StepShape> steps);

}  // namespace shunt
