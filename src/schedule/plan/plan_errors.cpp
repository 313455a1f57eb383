#include "schedule/plan/plan_errors.h"

#include <fmt/format.h>

#include "device/device_set.h"

namespace shunt {

Error in_device(Error error, std::span<Device* const> devices, int device) {
  const std::string name(device_at(devices, device).name());
  return std::move(error).with_device(name).with_context(name);
}

Error in_segment(Error error, const Graph& graph, std::span<Device* const> devices,
                 std::span<const Segment> segments, std::size_t segment) {
  const Segment& at = segments[segment];
  const std::string name(device_at(devices, at.device).name());
  std::string where = fmt::format("segment {} on {}", segment, name);
  if (error.node().empty()) {  // the device does not know, or has not begun
    std::string nodes = graph.describe(at.nodes.front());
    if (at.nodes.size() > 1) nodes += " to " + graph.describe(at.nodes.back());
    where += ", " + nodes;
    error = std::move(error).with_node(nodes);
  }
  return std::move(error).with_device(name).with_context(where);
}

}  // namespace shunt
