// What a device of some kind is thought to do until it has been measured.
#pragma once

#include "shunt/costs.h"

namespace shunt {

struct Estimate {
  DeviceKind kind = DeviceKind::kAccelerator;
  double operations_per_second = 0;
  double bytes_per_second = 0;  ///< of its own memory
  double launch_seconds = 0;    ///< a node
  TransferCost link;            ///< to and from the host
};

/// Every kind has one.
const Estimate& estimate_of(DeviceKind kind);

}  // namespace shunt
