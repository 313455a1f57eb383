#include "schedule/plan/programs.h"

#include "device/device_run.h"
#include "device/device_set.h"
#include "graph/storage_users.h"
#include "schedule/plan/plan_errors.h"

namespace shunt {

Result<std::vector<std::unique_ptr<Program>>> prepare_programs(const Graph& graph,
                                                               const Placement& placement,
                                                               const SegmentedGraph& cut,
                                                               std::span<const Address> leaves,
                                                               std::span<const NodeId> live_out,
                                                               std::span<const NodeId> watched) {
  // A result must be in memory if it is kept, or a node outside its segment reads it, through a
  // view or not.
  const auto outside = std::make_unique<bool[]>(graph.size());
  const auto needed = [&](NodeId id) { outside[id] = outside[graph.node(id).storage] = true; };
  for (NodeId id : live_out) needed(id);
  for (NodeId id : watched) needed(id);
  for (const Copy& copy : cut.copies) needed(copy.node);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!is_computed(node)) continue;
    if (node.writes_storage) outside[id] = true;
    for (NodeId source : node.sources) {
      if (source == kNoNode) continue;
      if (cut.segment_of[graph.node(source).storage] != cut.segment_of[id]) needed(source);
    }
  }
  const std::vector<const BufferType*> memory = types_of(leaves);
  std::vector<std::unique_ptr<Program>> programs;
  for (std::size_t i = 0; i < cut.segments.size(); ++i) {
    const Segment& segment = cut.segments[i];
    const SegmentView view{graph, segment.nodes, {outside.get(), graph.size()}, memory};
    auto program = device_at(placement.devices, segment.device).prepare(view);
    if (!program) {
      return in_segment(std::move(program.error()), graph, placement.devices, cut.segments, i);
    }
    programs.push_back(std::move(*program));
  }
  return programs;
}

}  // namespace shunt
