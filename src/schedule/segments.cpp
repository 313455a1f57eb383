#include "schedule/segments.h"

#include <map>

#include "schedule/place_facts.h"
#include "schedule/storage_users.h"

namespace shunt {

namespace {

class Cutter {
 public:
  Cutter(const Graph& graph, const Placement& placement,
         std::span<const BufferType* const> leaf_types, const std::vector<bool>& watched)
      : graph_(graph),
        watched_(watched),
        placement_(placement),
        leaf_types_(leaf_types),
        users_(storage_users(graph)),
        versions_(graph.size(), 0) {
    cut_.segment_of.assign(graph.size(), kNoSegment);
  }

  Cut cut(std::span<const NodeId> kept) {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_computed(graph_.node(id))) continue;
      const int device = placement_.decisions[id].device;
      if (starts_segment(id, device)) start_segment(device);
      cut_.segments.back().nodes.push_back(id);
      cut_.segment_of[id] = cut_.segments.size() - 1;
      for (NodeId source : graph_.node(id).sources) {
        if (source != kNoNode) need(source, device, cut_.segments.size() - 1, id);
      }
      if (graph_.node(id).writes_storage) ++versions_[graph_.node(id).storage];
      ended_ = !watched_.empty() && watched_[id];
      if (ended_) last_watched_ = id;
    }
    start_segment(cpu());  // what the host reads after the last one: no segment, only its copies
    for (NodeId id : kept) need(id, cpu(), cut_.segments.size() - 1, kNoNode);
    cut_.segments.pop_back();
    return std::move(cut_);
  }

 private:
  int cpu() const { return static_cast<int>(placement_.devices.size()) - 1; }

  /// Whether a node can't go on with the segment so far: it runs elsewhere, somebody looks at what
  /// was before it, or it needs a weight brought in, which then takes the place of what died.
  bool starts_segment(NodeId id, int device) const {
    if (cut_.segments.empty() || cut_.segments.back().device != device || ended_) return true;
    for (NodeId source : graph_.node(id).sources) {
      if (source == kNoNode) continue;
      const NodeId owner = graph_.node(source).storage;
      if (!is_weight(graph_.node(owner).role) || reads(device, owner)) continue;
      if (!copies_.contains({device, what_crosses(source)})) return true;
    }
    return false;
  }

  /// The node whose bytes are copied for a source: a view of a whole weight is the weight itself.
  NodeId what_crosses(NodeId source) const {
    const NodeId owner = graph_.node(source).storage;
    if (!is_weight(graph_.node(owner).role)) return source;
    const bool whole =
        byte_span(graph_.node(source).result) == byte_span(graph_.node(owner).result);
    return whole ? owner : source;
  }

  /// Slices of a weight can be told apart where the host can send them one by one.
  Picked picked_of_copy(NodeId crossing, int device) const {
    const Node& node = graph_.node(crossing);
    if (!is_weight(node.role) || device == cpu() || !type_of(crossing).host_accessible()) return {};
    return picked_of(graph_, crossing, users_);
  }

  void start_segment(int device) {
    cut_.segments.push_back({.device = device, .nodes = {}, .transfers = {}});
    cut_.uses.emplace_back();
    if (ended_) need(last_watched_, cpu(), cut_.segments.size() - 1, kNoNode);
    ended_ = false;
  }

  bool reads(int device, NodeId owner) const {
    return placement_.devices[static_cast<std::size_t>(device)]->can_read(type_of(owner));
  }

  const BufferType& type_of(NodeId owner) const {
    if (graph_.node(owner).is_leaf()) return *leaf_types_[owner];
    return placement_.devices[static_cast<std::size_t>(placement_.decisions[owner].device)]
        ->memory();
  }

  /// Makes sure that `device` can read `node` in `segment`, for a node or the host: where it lies,
  /// by a copy made before, or by a new one.
  void need(NodeId node, int device, std::size_t segment, NodeId reader) {
    const NodeId owner = graph_.node(node).storage;
    if (reads(device, owner)) return;
    const NodeId crossing = what_crosses(node);
    auto& known = copies_[{device, crossing}];
    if (known.copy == kNoSegment || known.version != versions_[owner]) {
      Copy copy{crossing, placement_.decisions[owner].device, device, segment, segment, reader};
      copy.picked = picked_of_copy(crossing, device);
      if (copy.picked) need(copy.picked.ids, cpu(), segment, kNoNode);
      copy.bytes = copy.picked
                       ? picked_bytes(graph_, crossing, copy.picked)
                       : static_cast<std::uint64_t>(byte_span(graph_.node(crossing).result));
      known = {cut_.copies.size(), versions_[owner]};
      cut_.copies.push_back(copy);
      cut_.segments[segment].transfers.push_back({crossing, device, copy.bytes});
    }
    cut_.copies[known.copy].last_segment = segment;
    cut_.copies[known.copy].last_reader = reader;
    auto& uses = cut_.uses[segment];
    for (const Cut::Use& use : uses) {
      if (use.node == node && use.copy == known.copy) return;
    }
    uses.push_back({node, known.copy});
  }

  struct Known {
    std::size_t copy = kNoSegment;
    std::uint64_t version = 0;
  };

  const Graph& graph_;
  const std::vector<bool>& watched_;
  const Placement& placement_;
  std::span<const BufferType* const> leaf_types_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<std::uint64_t> versions_;  // by owner of memory: how often it has been written into
  std::map<std::pair<int, NodeId>, Known> copies_;
  bool ended_ = false;  // somebody looks at the node before
  NodeId last_watched_ = 0;
  Cut cut_;
};

}  // namespace

Cut cut_segments(const Graph& graph, const Placement& placement, std::span<const NodeId> kept,
                 std::span<const BufferType* const> leaf_types, const std::vector<bool>& watched) {
  return Cutter(graph, placement, leaf_types, watched).cut(kept);
}

BufferType& input_memory(std::span<Device* const> devices) {
  if (devices.empty() || !devices.back()->memory().host_accessible()) return host_memory();
  return devices.back()->memory();
}

std::vector<const BufferType*> planned_leaf_types(const Graph& graph, const Placement& placement) {
  std::vector<const BufferType*> types(graph.size(), nullptr);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!node.is_leaf()) continue;
    const auto device = static_cast<std::size_t>(placement.decisions[id].device);
    types[id] = node.role == Role::kInput ? &input_memory(placement.devices)
                                          : &placement.devices[device]->memory();
  }
  return types;
}

}  // namespace shunt
