// What the user pinned: patterns matched with names, and checked against what devices can do.
#pragma once

#include <string>
#include <vector>

#include "schedule/place_facts.h"

namespace shunt {

inline constexpr int kNotPinned = -1;

struct PinnedNodes {
  /// By node id: the device, or kNotPinned.
  std::vector<int> device;
  /// By node id: the pin that says so, for people.
  std::vector<std::string> reason;
  std::vector<std::string> notes;
};

/// The first pattern that matches a node counts. A node without a pin of its own that shares memory
/// with a pinned one, as it writes into it, goes by that pin. Inputs and views are not pinned: they
/// are where the host or what they view is. Invalid, with pattern, node and reason, for a pin that
/// can't be kept.
Result<PinnedNodes> pin_nodes(const PlaceFacts& facts, std::span<const Pin> pins);

/// "the pin blk.3.*=cuda0", for messages.
std::string describe(const Pin& pin);

}  // namespace shunt
