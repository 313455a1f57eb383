#include "backends/cpu/fusion.h"

#include <algorithm>

#include "backends/cpu/fused.h"
#include "backends/cpu/interleaved_memory.h"

namespace shunt::cpu {

namespace {

bool any_interleaved(const NodeView& view) {
  for (std::size_t i = 0; i < view.node().sources.size(); ++i) {
    if (view.has_source(i) && is_interleaved(view, i)) return true;
  }
  return false;
}

}  // namespace

Fusions::Fusions(const SegmentView& segment)
    : segment_(segment), by_second_(segment.graph.size()), first_of_(segment.graph.size()) {
  const Graph& graph = segment.graph;
  // How often each result is read, through views or not.
  std::vector<int> readers(static_cast<std::size_t>(graph.size()));
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const NodeId source : graph.node(id).sources) {
      if (source != kNoNode) ++readers[source];
    }
  }
  for (const NodeId second : segment.nodes) {
    const Node& node = graph.node(second);
    for (const Fusion& fusion : fusions()) {
      if (node.op != fusion.second) continue;
      const NodeId first = node.sources[fusion.source];
      if (graph.node(first).op != fusion.first || readers[first] != 1) continue;
      if (by_second_[first].fusion != nullptr) continue;  // it is computed with one before
      if (!may_fuse(first, second)) continue;
      const NodeView views[] = {{graph, first, segment.memory}, {graph, second, segment.memory}};
      if (std::ranges::any_of(views, any_interleaved) || !fusion.fits(views[0], views[1])) continue;
      by_second_[second] = {first, &fusion};
      first_of_[first] = true;
      break;
    }
  }
}

std::optional<Fusions::Match> Fusions::ending_at(NodeId second) const {
  if (by_second_[second].fusion == nullptr) return {};
  return by_second_[second];
}

/// Whether the first one's sources are still what they were when the second is computed, and nobody
/// outside of the segment asks for its result.
bool Fusions::may_fuse(NodeId first, NodeId second) const {
  const Graph& graph = segment_.graph;
  if (segment_.kept[first] || !std::ranges::count(segment_.nodes, first)) return false;
  const auto reads = [&](NodeId storage) {
    return std::ranges::any_of(graph.node(first).sources, [&](NodeId source) {
      return source != kNoNode && graph.node(source).storage == storage;
    });
  };
  for (NodeId id = first + 1; id < second; ++id) {
    if (graph.node(id).writes_storage && reads(graph.node(id).storage)) return false;
  }
  return true;
}

}  // namespace shunt::cpu
