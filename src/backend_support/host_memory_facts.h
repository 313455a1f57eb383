// The host's memory in DeviceInfo, for devices that compute in it.
#pragma once

#include "shunt/device.h"

namespace shunt {

/// Sets the memory fields for a device without memory of its own. Device::memory_free() is that of
/// the host then.
void set_host_memory(DeviceInfo& info);

}  // namespace shunt
