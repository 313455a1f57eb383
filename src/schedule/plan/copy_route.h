// The way of a copy between two devices.
#pragma once

#include <vector>

#include "schedule/memory/homes.h"
#include "schedule/plan/segments.h"

namespace shunt {

enum class RouteKind : std::uint8_t {
  kFromHost,     ///< the host can access the source: the stream of the destination writes
  kToHost,       ///< the host can access the destination: the stream of the source reads
  kDirect,       ///< the destination copies from the source's memory
  kThroughHost,  ///< read into staging memory, then written from there
};

struct CopyRoute {
  RouteKind kind = RouteKind::kDirect;
  Home staging = {};  ///< of a copy through the host
};

/// By copy. `types`: memory_types(). Staging memory is pinned memory of the destination if it has
/// any, else of the source, else memory of the CPU.
std::vector<CopyRoute> find_routes(const Graph& graph, const Placement& placement,
                                   const SegmentedGraph& cut,
                                   std::span<const BufferType* const> types);

}  // namespace shunt
