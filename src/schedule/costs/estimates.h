// The estimated speed of a device that has not been measured.
#pragma once

#include "shunt/costs.h"

namespace shunt {

/// The device's own figures, or else the usual ones for its kind; every kind has some. Each figure
/// is used independently: a rate that is not above 0, and seconds below 0, count as missing.
DeviceSpeed estimate_of(const DeviceInfo& device);

/// The costs of an op on a device, predicted from the measured costs of another op there.
OpCost scaled_cost(const OpCost& measured, std::string_view op, DType dtype);

}  // namespace shunt
