// A request to fit steps on the devices, within limits.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "device/device_set.h"
#include "engine/load/device_limits.h"
#include "model/definition.h"
#include "shunt/gguf.h"

namespace shunt {

struct FitRequest {
  std::vector<StepShape> steps;  ///< whose plans exist at the same time
  PerDevice<DeviceLimit> limits;
  /// Whether plans may use it. Empty: all.
  PerDevice<bool> used = {};
  /// Loaded weights: each stays on its device, or is used from the CPU. May lack some; null while
  /// there are none.
  const std::map<const gguf::TensorInfo*, DeviceIndex>* loaded = nullptr;
  /// Existing caches, which stay. Null while none is.
  const std::vector<DeviceIndex>* caches = nullptr;
  /// The devices for caches, if they fit. Null, or of another number of caches: placement decides.
  const std::vector<DeviceIndex>* wanted_caches = nullptr;
  /// The most bytes of weights that may be sent there for one op. Empty: no limit.
  PerDevice<std::uint64_t> most_streamed = {};
  bool may_overlap = true;  ///< Fit::overlap may be true
  /// Steps of at most this number of tokens follow no other of their plan.
  std::int64_t lone_tokens = 0;
  /// Bytes of host memory for blocks of the cache of devices, at most.
  std::uint64_t host_cache = 0;
};

}  // namespace shunt
