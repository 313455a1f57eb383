#include "schedule/plan/segments.h"

#include <map>
#include <utility>

#include "device/device_set.h"
#include "graph/storage_users.h"
#include "schedule/plan/batches.h"
#include "schedule/plan/node_bytes.h"

namespace shunt {

namespace {

class Cutter {
 public:
  Cutter(const Graph& graph, const Placement& placement, std::span<const BufferType* const> types,
         const std::vector<bool>& watched)
      : graph_(graph),
        watched_(watched),
        placement_(placement),
        types_(types),
        users_(graph),
        versions_(graph.size(), 0),
        last_on_(placement.devices.size(), kNoSegment) {
    cut_.segment_of.assign(graph.size(), kNoSegment);
  }

  SegmentedGraph cut(std::span<const NodeId> live_out) {
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
    start_segment(cpu());  // data that the host reads after the last one: no segment, only copies
    for (NodeId id : live_out) need(id, cpu(), cut_.segments.size() - 1, kNoNode);
    cut_.segments.pop_back();
    return std::move(cut_);
  }

 private:
  int cpu() const { return cpu_of(placement_.devices); }

  /// Whether a node can't continue the current segment. It runs on another device, an observer
  /// reads the node before it, or it needs a copy of a weight. Such a copy may reuse the memory of
  /// dead tensors.
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

  /// Slices of a weight are distinguished where the host can send them one by one.
  Gathered gathered_of_copy(NodeId crossing, int device) const {
    const Node& node = graph_.node(crossing);
    if (!is_weight(node.role) || device == cpu() || !type_of(crossing).host_accessible()) return {};
    return gathered_of(graph_, crossing, users_);
  }

  void start_segment(int device) {
    before_ = std::exchange(last_on_[device], cut_.segments.size());
    cut_.segments.push_back({.device = device, .nodes = {}, .transfers = {}});
    cut_.uses.emplace_back();
    if (ended_) need(last_watched_, cpu(), cut_.segments.size() - 1, kNoNode);
    ended_ = false;
  }

  bool reads(int device, NodeId owner) const {
    return device_at(placement_.devices, device).can_read(type_of(owner));
  }

  const BufferType& type_of(NodeId owner) const { return *types_[owner]; }

  /// A copy of a leaf may overlap with the device's segment before, if the device has a queue for
  /// that. The numbers of gathered slices are often results of that segment.
  std::size_t earliest_of(const Copy& copy) const {
    const bool overlaps = before_ != kNoSegment && copy.to == cut_.segments[copy.segment].device &&
                          !copy.gathered && graph_.node(graph_.node(copy.node).storage).is_leaf() &&
                          device_at(placement_.devices, copy.to).has_transfer_queue();
    return overlaps ? before_ : copy.segment;
  }

  /// Makes sure that `device` can read `node` in `segment`, for a node or the host: in place, by a
  /// copy made before, or by a new one.
  void need(NodeId node, int device, std::size_t segment, NodeId reader) {
    const NodeId owner = graph_.node(node).storage;
    if (reads(device, owner)) return;
    const NodeId crossing = what_crosses(node);
    auto& known = copies_[{device, crossing}];
    if (known.copy == kNoSegment || known.version != versions_[owner]) {
      Copy made{.node = crossing,
                .from = placement_.decisions[owner].device,
                .to = device,
                .segment = segment,
                .last_segment = segment,
                .last_reader = reader};
      made.gathered = gathered_of_copy(crossing, device);
      made.earliest = earliest_of(made);
      if (made.gathered) need(made.gathered.ids, cpu(), segment, kNoNode);
      made.bytes =
          made.gathered
              ? gathered_bytes(graph_, crossing, made.gathered)
              : bytes_of(copy_shape(graph_.node(crossing).result, graph_.max_dynamic_dims()));
      known = {cut_.copies.size(), versions_[owner]};
      cut_.copies.push_back(std::move(made));
    }
    Copy& copy = cut_.copies[known.copy];
    copy.last_segment = segment;
    copy.last_reader = reader;
    if (reader != kNoNode) copy.readers.push_back(reader);
    const auto [used, first] = last_use_.try_emplace({known.copy, node}, segment);
    if (!first && used->second == segment) return;
    used->second = segment;
    cut_.uses[segment].push_back({node, known.copy});
  }

  struct Known {
    std::size_t copy = kNoSegment;
    std::uint64_t version = 0;
  };

  const Graph& graph_;
  const std::vector<bool>& watched_;
  const Placement& placement_;
  std::span<const BufferType* const> types_;  // by owner of memory
  StorageUsers users_;
  std::vector<std::uint64_t> versions_;  // by owner of memory: how often it has been written into
  std::map<std::pair<int, NodeId>, Known> copies_;
  std::map<std::pair<std::size_t, NodeId>, std::size_t>
      last_use_;                     // by copy and node: last segment
  PerDevice<std::size_t> last_on_;   // the device's last segment so far
  std::size_t before_ = kNoSegment;  // the one before the current segment on its device
  bool ended_ = false;               // an observer reads the node before
  NodeId last_watched_ = 0;
  SegmentedGraph cut_;
};

}  // namespace

SegmentedGraph cut_segments(const Graph& graph, const Placement& placement,
                            std::span<const NodeId> live_out,
                            std::span<const BufferType* const> types,
                            const std::vector<bool>& watched) {
  SegmentedGraph cut = Cutter(graph, placement, types, watched).cut(live_out);
  find_batches(graph, placement, types, cut);
  return cut;
}

}  // namespace shunt
