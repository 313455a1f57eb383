// Placement by rules, in the order of their numbers: see docs/internals/scheduler.md.
#pragma once

#include "schedule/place/facts.h"
#include "schedule/place/pins.h"

namespace shunt {

/// A decision for every node, views included. Invalid if a node must write to memory that its
/// device can't write. `stream_rows`: see PlaceOptions.
Result<std::vector<Decision>> place_by_rules(const PlaceFacts& facts, const PinnedNodes& pinned,
                                             std::int64_t stream_rows);

/// Places weights and caches without memory after all computed nodes: on the device of all their
/// users, or where they were. Views go to the device of their owner of memory.
void place_followers(const PlaceFacts& facts, std::vector<Decision>& decisions);

}  // namespace shunt
