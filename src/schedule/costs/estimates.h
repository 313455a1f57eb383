// What a device of some kind is thought to do until it has been measured.
#pragma once

#include "shunt/costs.h"

namespace shunt {

/// What the device itself says, or else what is usual for its kind; every kind has something. That
/// holds for each figure by itself: a rate that is not above 0 is none, nor are seconds below 0.
DeviceSpeed estimate_of(const DeviceInfo& device);

/// The costs of an op on a device, predicted from the measured costs of another op there.
OpCost scaled_cost(const OpCost& measured, std::string_view op, DType dtype);

}  // namespace shunt
