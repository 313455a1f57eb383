#include "schedule/plan/copy_route.h"

#include "device/device_set.h"
#include "schedule/plan/node_bytes.h"

namespace shunt {

namespace {

RouteKind route_kind(const Placement& placement, const Copy& copy, const BufferType& from) {
  Device& to = device_at(placement.devices, copy.to);
  if (from.host_accessible()) return RouteKind::kFromHost;
  if (to.memory().host_accessible()) return RouteKind::kToHost;
  return to.can_copy_from(from) ? RouteKind::kDirect : RouteKind::kThroughHost;
}

Home staging_of(const Graph& graph, const Placement& placement, const Copy& copy) {
  for (const int device : {copy.to, copy.from}) {
    BufferType* own = device_at(placement.devices, device).staging_memory();
    if (own == nullptr || !own->host_accessible()) continue;
    if (bytes_of(graph, copy.node) <= own->max_size()) return {own, device};
  }
  return {&input_memory(placement.devices), cpu_of(placement.devices)};
}

}  // namespace

std::vector<CopyRoute> find_routes(const Graph& graph, const Placement& placement,
                                   const SegmentedGraph& cut,
                                   std::span<const BufferType* const> types) {
  std::vector<CopyRoute> routes;
  for (const Copy& copy : cut.copies) {
    CopyRoute& route = routes.emplace_back();
    route.kind = route_kind(placement, copy, *types[graph.node(copy.node).storage]);
    if (route.kind == RouteKind::kThroughHost) route.staging = staging_of(graph, placement, copy);
  }
  return routes;
}

}  // namespace shunt
