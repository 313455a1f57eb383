#include "schedule/allocation.h"

#include <algorithm>

#include "base/fail.h"
#include "schedule/place_facts.h"
#include "schedule/storage_users.h"

namespace shunt {

namespace {

/// A clock for lifetimes: node `id` runs at 2 * id + 1, copies for a segment at twice its first
/// node.
std::int64_t time_of(NodeId id) {
  return 2 * static_cast<std::int64_t>(id) + 1;
}

class Allocator {
 public:
  Allocator(const Graph& graph, const Placement& placement, const Cut& cut,
            std::span<const std::unique_ptr<Program>> programs, bool overlapping)
      : graph_(graph),
        placement_(placement),
        cut_(cut),
        programs_(programs),
        overlapping_(overlapping),
        kept_(graph.size(), false),
        elided_(graph.size(), false) {
    for (NodeId id = 0; id < graph.size(); ++id) computed_.push_back(time_of(id));
    for (const auto& program : programs) {
      for (const FusedNode& fused : program->needs().fused) {
        computed_[fused.node] = time_of(fused.with);
        together_.push_back(fused.node);
        together_.push_back(fused.with);
        elided_[fused.node] = !fused.in_memory;
      }
    }
    allocation_.devices.resize(placement.devices.size());
    allocation_.of_node.resize(graph.size());
    end_ = 2 * static_cast<std::int64_t>(graph.size()) + 2;
  }

  Result<Allocation> run(std::span<const NodeId> kept) {
    find_lifetimes(kept);
    request_nodes();
    request_copies();
    request_scratch();
    for (std::size_t i = 0; i < allocation_.devices.size(); ++i) {
      Device& device = *placement_.devices[i];
      BufferType& type = device.memory();
      for (RequestGroup* group : {&allocation_.devices[i].shared, &allocation_.devices[i].own}) {
        auto layout = plan_memory(group->requests, type.alignment(), type.max_size());
        if (!layout) {
          const std::string name = device.info().name;
          return std::move(layout.error()).with_device(name).with_context(name);
        }
        group->layout = std::move(*layout);
      }
    }
    return std::move(allocation_);
  }

 private:
  BufferType& memory_of(int device) const {
    return placement_.devices[static_cast<std::size_t>(device)]->memory();
  }
  std::int64_t start_of(std::size_t segment) const {
    return segment < cut_.segments.size()
               ? 2 * static_cast<std::int64_t>(cut_.segments[segment].nodes.front())
               : end_ - 1;
  }
  std::int64_t end_of(std::size_t segment) const {
    return segment < cut_.segments.size() ? time_of(cut_.segments[segment].nodes.back()) : end_;
  }

  void find_lifetimes(std::span<const NodeId> kept) {
    last_.assign(graph_.size(), 0);
    const auto use = [&](NodeId id, std::int64_t time) {
      auto& last = last_[graph_.node(id).storage];
      last = std::max(last, time);
    };
    for (NodeId id : kept) {
      use(id, end_);
      kept_[graph_.node(id).storage] = true;
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_computed(graph_.node(id))) continue;
      use(id, computed_[id]);
      for (NodeId source : graph_.node(id).sources) {
        if (source != kNoNode) use(source, computed_[id]);
      }
    }
    for (const Copy& copy : cut_.copies) use(copy.node, start_of(copy.segment));
  }

  RequestGroup& group(int device, bool own) {
    DeviceRequests& requests = allocation_.devices[static_cast<std::size_t>(device)];
    return own ? requests.own : requests.shared;
  }

  Slot request(int device, bool own, std::size_t bytes, std::int64_t first, std::int64_t last) {
    auto& requests = group(device, own).requests;
    requests.push_back({bytes, first, last});
    return {own, requests.size() - 1};
  }

  /// A node whose device can compute it in place takes over the memory of that source if it dies
  /// here.
  bool take_over(NodeId id, const InPlace& pair) {
    const Node& node = graph_.node(id);
    const NodeId source = node.sources[static_cast<std::size_t>(pair.source)];
    if (source == kNoNode || graph_.node(source).storage != source || graph_.node(source).is_leaf())
      return false;
    // Nobody else may look at that memory while it is overwritten: not even this node, through
    // another source, nor one that is computed with it.
    const auto shares = [&](NodeId other) {
      return other != kNoNode && graph_.node(other).storage == source;
    };
    if (std::count_if(node.sources.begin(), node.sources.end(), shares) != 1) return false;
    for (const NodeId other : together_) {
      const auto& sources = graph_.node(other).sources;
      if (other != id && computed_[other] == computed_[id] &&
          std::any_of(sources.begin(), sources.end(), shares)) {
        return false;
      }
    }
    if (last_[source] != computed_[id] || !allocation_.of_node[source]) return false;
    if (overlapping_ && kept_[id] != allocation_.of_node[source].own) return false;
    const int device = placement_.decisions[id].device;
    if (placement_.decisions[source].device != device) return false;
    if (memory_of(device).size_of(graph_.node(source).result) !=
        memory_of(device).size_of(node.result))
      return false;
    allocation_.of_node[id] = allocation_.of_node[source];
    const Slot slot = allocation_.of_node[id];
    MemoryRequest& taken = group(device, slot.own).requests[slot.index];
    taken.last = std::max(taken.last, last_[id]);
    return true;
  }

  void request_nodes() {
    for (std::size_t segment = 0; segment < cut_.segments.size(); ++segment) {
      const Needs& needs = programs_[segment]->needs();
      for (NodeId id : cut_.segments[segment].nodes) {
        const Node& node = graph_.node(id);
        if (node.storage != id) continue;  // it writes into somebody else's memory
        if (elided_[id]) continue;
        const auto pair = std::find_if(needs.in_place.begin(), needs.in_place.end(),
                                       [&](const InPlace& each) { return each.node == id; });
        if (pair != needs.in_place.end() && take_over(id, *pair)) continue;
        const int device = cut_.segments[segment].device;
        allocation_.of_node[id] =
            request(device, overlapping_ && kept_[id], memory_of(device).size_of(node.result),
                    time_of(id), last_[id]);
      }
    }
  }

  void request_copies() {
    for (const Copy& copy : cut_.copies) {
      // A weight is the same in every step: one place for all of them.
      const Node& node = graph_.node(copy.node);
      const bool own = overlapping_ && !is_weight(graph_.node(node.storage).role);
      const std::int64_t last =
          copy.last_reader == kNoNode ? end_of(copy.last_segment) : time_of(copy.last_reader);
      allocation_.of_copy.push_back(request(copy.to, own, memory_of(copy.to).size_of(node.result),
                                            start_of(copy.segment), last));
    }
  }

  void request_scratch() {
    for (std::size_t segment = 0; segment < cut_.segments.size(); ++segment) {
      const std::size_t bytes = programs_[segment]->needs().scratch_bytes;
      allocation_.of_scratch.push_back(bytes == 0
                                           ? Slot{}
                                           : request(cut_.segments[segment].device, false, bytes,
                                                     start_of(segment), end_of(segment)));
    }
  }

  const Graph& graph_;
  const Placement& placement_;
  const Cut& cut_;
  std::span<const std::unique_ptr<Program>> programs_;
  bool overlapping_;                    // steps do
  std::vector<bool> kept_;              // by owner of memory
  std::vector<bool> elided_;            // by node
  std::vector<std::int64_t> computed_;  // by node: when
  std::vector<NodeId> together_;        // the nodes that are computed with another
  std::int64_t end_ = 0;
  std::vector<std::int64_t> last_;  // by owner of memory: when it is used for the last time
  Allocation allocation_;
};

}  // namespace

Result<Allocation> allocate_plan(const Graph& graph, const Placement& placement, const Cut& cut,
                                 std::span<const std::unique_ptr<Program>> programs,
                                 std::span<const NodeId> kept, bool overlapping) {
  return Allocator(graph, placement, cut, programs, overlapping).run(kept);
}

}  // namespace shunt
