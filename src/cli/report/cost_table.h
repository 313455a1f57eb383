// Measured costs of devices as a table.
#pragma once

#include <string>

#include "shunt/costs.h"

namespace shunt::cli {

/// A line for each op of each device, and for each direction of its copies.
std::string cost_table(const CostModel& costs);

}  // namespace shunt::cli
