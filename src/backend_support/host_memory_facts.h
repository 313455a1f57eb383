// DeviceInfo of a device that computes in host memory.
#pragma once

#include "shunt/device.h"

namespace shunt {

/// Fills in the host's memory as that of a device without any of its own.
void set_host_memory(DeviceInfo& info);

}  // namespace shunt
