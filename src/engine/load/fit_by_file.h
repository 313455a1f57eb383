// Memory under a placement file that is followed: the file decides the device of each leaf, whether
// it fits or not.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "shunt/explain.h"

namespace shunt {

bool names_device(const PlacementFile& file, const std::string& device);

/// Bytes of all that a file puts on a device, and the bytes that the device has for it. Both
/// include the use of the same memory by other devices.
struct WantedOfDevice {
  std::string device;
  std::uint64_t takes = 0;
  std::uint64_t usable = 0;
};

/// "FILE:7: blk.0.attn_k.weight (weight) is too much: ", with the first line of a weight or cache
/// that a device has no room for, those before it counted, too. `leaves`: bytes of those there. All
/// other bytes that are taken come before any of them. If these alone are too much, the line with
/// the largest result. Empty if there is no such line.
std::string line_that_is_too_much(const PlacementFile& file, const Graph& graph,
                                  const WantedOfDevice& wanted,
                                  const std::map<NodeId, std::uint64_t>& leaves);

}  // namespace shunt
