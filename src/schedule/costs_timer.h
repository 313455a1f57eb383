// Timing a device by itself: its nodes and its copies, without a plan around them.
#pragma once

#include <cstddef>

#include "shunt/device.h"

namespace shunt {

/// Seconds that a device takes for all nodes of a graph, as one segment with everything in its own
/// memory: the best of several runs that take `seconds` together, about. The device's own refusal
/// or error if it can't.
Result<double> time_graph(Device& device, const Graph& graph, double seconds);

/// The same of one copy between the host's memory (pinned, if the device has such) and the
/// device's.
Result<double> time_copy(Device& device, std::size_t bytes, bool to_device, double seconds);

}  // namespace shunt
