// Continues without a device that failed. A state for the remaining devices replaces the model's
// state. It shares the weights that they hold; the others are read from the file again.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "engine/model_state.h"

namespace shunt {

/// The device of the model that the error names as failed. None if the policy does not allow
/// leaving it out, or if it is the CPU.
std::optional<DeviceIndex> device_to_leave_out(const ModelState& model, const Error& error);

/// Loads the weights that are missing, leaving out devices that fail.
Result<std::shared_ptr<const ModelState>> load_state(std::unique_ptr<ModelState> model,
                                                     LoadOptions options);

/// The state of a loaded model. May be used from many threads.
class CurrentState {
 public:
  explicit CurrentState(std::shared_ptr<const ModelState> first) : state_(std::move(first)) {}

  std::shared_ptr<const ModelState> get() const;
  /// Leaves out the device that failed with `error` when `seen` was used, unless another caller has
  /// done so already. The error itself if that can't be; another one, about it, if the others fail,
  /// too, or have no room: then nothing has changed.
  Status leave_out(const ModelState& seen, const Error& error);

 private:
  mutable std::mutex mutex_;  // of the pointer
  std::mutex replacing_;      // held while a new state is made
  std::shared_ptr<const ModelState> state_;
};

}  // namespace shunt
