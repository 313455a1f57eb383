// Errors of plans: the device, the segment and the nodes that an error is about, for a caller that
// continues without that device.
#pragma once

#include "shunt/plan.h"

namespace shunt {

Error in_device(Error error, std::span<Device* const> devices, int device);

/// Names the nodes of the segment unless the device has named one.
Error in_segment(Error error, const Graph& graph, std::span<Device* const> devices,
                 std::span<const Segment> segments, std::size_t segment);

}  // namespace shunt
