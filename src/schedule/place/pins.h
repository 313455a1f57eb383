// The user's pins: patterns matched with names, and checked against the devices' answers.
#pragma once

#include <string>
#include <vector>

#include "schedule/place/facts.h"

namespace shunt {

inline constexpr DeviceIndex kNotPinned = kNoDevice;

struct PinnedNodes {
  /// The device, or kNotPinned.
  PerNode<DeviceIndex> device;
  /// The reason for messages: "set by the pin ...".
  PerNode<std::string> reason;
  /// kPinned, or kSplit for a part that is kept on its device.
  PerNode<Rule> rule;
  std::vector<std::string> notes;
};

/// The first pin whose pattern matches a node, or that names it as a part, counts. A node without a
/// pin of its own that writes into the memory of a pinned node follows that pin. Inputs and views
/// are not pinned: they are on the host or on the device of their owner. Invalid, with pattern,
/// node and reason, for a pin that can't be applied.
Result<PinnedNodes> pin_nodes(const PlaceFacts& facts, std::span<const Pin> pins);

/// Keeps parts of split weights and caches on their devices. A part stays free if it has memory, if
/// it or a node that uses it is pinned, or if its device does not compute all nodes that use it.
void keep_parts(const PlaceFacts& facts, std::span<const PartHome> parts, PinnedNodes& pinned);

/// The names of the devices that pins are for.
std::vector<std::string> devices_of(std::span<const Pin> pins);

/// A device that is used only if it is named (DeviceInfo::priority below 0), and that pins name,
/// gets only those nodes: it refuses all others.
void keep_to_pins(std::span<const Pin> pins, const PinnedNodes& pinned, PlaceFacts& facts);

/// "the pin blk.3.*=cuda0", for messages.
std::string describe(const Pin& pin);

}  // namespace shunt
