// Continues without a device that failed. A state for the remaining devices replaces the model's
// state. It shares the weights that they hold; the others are read from the file again.
#pragma once

#include <memory>
#include <mutex>

#include "engine/model_state.h"

namespace shunt {

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
