// The devices of leaves that outlive a step.
#pragma once

#include <map>
#include <vector>

#include "device/device_set.h"
#include "shunt/gguf.h"

namespace shunt {

/// Indices into ModelState::devices.
struct Homes {
  std::map<const gguf::TensorInfo*, DeviceIndex> weights;
  std::vector<DeviceIndex> caches;  ///< in the order of StepGraph::caches
};

}  // namespace shunt
