// Filling devices of given sizes, unit by unit.
#pragma once

#include <span>
#include <vector>

#include "engine/load/fit_bounds.h"
#include "engine/load/fit_leaves.h"

namespace shunt {

struct HomeAssignment {
  std::vector<DeviceIndex> homes;  ///< by leaf
  PerDevice<std::uint64_t> taken;  ///< bytes of its leaves
  bool short_of_room = false;      ///< a device was too small for a unit
};

/// Units with loaded leaves come first, then the others, each in order. A device that a unit is too
/// large for is closed to all that follow; the CPU, the last one, takes the rest.
HomeAssignment assign_homes(std::span<const FitLeaf> leaves, std::span<const FitUnit> units,
                            const FitBounds& bounds);

}  // namespace shunt
