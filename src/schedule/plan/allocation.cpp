#include "schedule/plan/allocation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/indexed_vector.h"
#include "device/device_set.h"
#include "graph/storage_users.h"
#include "schedule/memory/homes.h"
#include "schedule/plan/plan_errors.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// A clock for lifetimes: node `id` runs at 2 * id + 1, copies for a segment at twice its first
/// node.
std::int64_t time_of(NodeId id) {
  return 2 * static_cast<std::int64_t>(id) + 1;
}

NodeId source_of(const Node& node, int number) {
  return IndexedSpan<int, const NodeId>(node.sources)[number];
}

class Allocator {
 public:
  Allocator(const Graph& graph, const Placement& placement, const SegmentedGraph& cut,
            std::span<const std::unique_ptr<Program>> programs, bool overlapping)
      : graph_(graph),
        placement_(placement),
        cut_(cut),
        programs_(programs),
        overlapping_(overlapping),
        kept_(graph.size(), false),
        elided_(graph.size(), false),
        homes_(find_homes(graph, placement)) {
    for (NodeId id = 0; id < graph.size(); ++id) computed_.push_back(time_of(id));
    for (const auto& program : programs) {
      for (const FusedNode& fused : program->needs().fused) {
        computed_[fused.node] = time_of(fused.with);
        elided_[fused.node] = !fused.in_memory;
      }
    }
    for (const auto& program : programs) {
      for (const FusedNode& fused : program->needs().fused) {
        for (const NodeId id : {fused.node, fused.with}) together_[computed_[id]].push_back(id);
      }
    }
    for (int i = 0; i <= cpu_of(placement.devices); ++i) {
      allocation_.pools.push_back({&device(i).memory(), i});
    }
    allocation_.of_node.resize(graph.size());
    end_ = 2 * static_cast<std::int64_t>(graph.size()) + 2;
  }

  Result<Allocation> run(std::span<const NodeId> live_out) {
    find_lifetimes(live_out);
    request_nodes();
    request_copies();
    request_scratch();
    for (PlanPool& pool : allocation_.pools) {
      for (RequestGroup* group : {&pool.shared, &pool.own}) {
        auto layout = plan_memory(group->requests, pool.type->alignment(), pool.type->max_size());
        if (!layout) {
          return in_device(std::move(layout.error()), placement_.devices, pool.device);
        }
        group->layout = std::move(*layout);
      }
    }
    return std::move(allocation_);
  }

 private:
  Device& device(int index) const { return device_at(placement_.devices, index); }
  /// Where the copy of a tensor is made: in the memory of the device that reads it. Data that the
  /// host reads is at the host's end of a copy from the device that has it.
  Home home_of(const Copy& copy) const {
    const Home own = {&device(copy.to).memory(), copy.to};
    if (copy.to != cpu_of(placement_.devices) || !own.type->host_accessible()) return own;
    BufferType* const end = host_end(device(copy.from), graph_.node(copy.node).result);
    if (end == nullptr || end->alignment() < own.type->alignment()) return own;
    return device(copy.to).can_read(*end) ? Home{end, copy.from} : own;
  }
  std::int64_t start_of(std::size_t segment) const {
    return segment < cut_.segments.size()
               ? 2 * static_cast<std::int64_t>(cut_.segments[segment].nodes.front())
               : end_ - 1;
  }
  std::int64_t end_of(std::size_t segment) const {
    return segment < cut_.segments.size() ? time_of(cut_.segments[segment].nodes.back()) : end_;
  }

  void find_lifetimes(std::span<const NodeId> live_out) {
    last_.assign(graph_.size(), 0);
    const auto use = [&](NodeId id, std::int64_t time) {
      auto& last = last_[graph_.node(id).storage];
      last = std::max(last, time);
    };
    for (NodeId id : live_out) {
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

  RequestGroup& group(const Slot& slot) {
    PlanPool& pool = allocation_.pools[slot.pool];
    return slot.own ? pool.own : pool.shared;
  }

  std::size_t pool_of(const Home& home) {
    for (std::size_t i = 0; i < allocation_.pools.size(); ++i) {
      const PlanPool& pool = allocation_.pools[i];
      if (pool.type == home.type && pool.device == home.device) return i;
    }
    allocation_.pools.push_back({home.type, home.device, true});
    return allocation_.pools.size() - 1;
  }

  Slot request(const Home& home, bool own, std::size_t bytes, std::int64_t first,
               std::int64_t last) {
    Slot slot{pool_of(home), own};
    auto& requests = group(slot).requests;
    slot.index = requests.size();
    requests.push_back({bytes, first, last});
    return slot;
  }

  /// A node whose device can compute it in place takes over the memory of that source if it dies
  /// here.
  bool take_over(NodeId id, const InPlace& pair) {
    const Node& node = graph_.node(id);
    const NodeId source = source_of(node, pair.source);
    if (source == kNoNode || graph_.node(source).storage != source || graph_.node(source).is_leaf())
      return false;
    // No other reader may see that memory while it is overwritten. Readers are this node through
    // another source, and nodes that are computed at the same time.
    const auto shares = [&](NodeId other) {
      return other != kNoNode && graph_.node(other).storage == source;
    };
    if (std::count_if(node.sources.begin(), node.sources.end(), shares) != 1) return false;
    if (const auto same_time = together_.find(computed_[id]); same_time != together_.end()) {
      for (const NodeId other : same_time->second) {
        const auto& sources = graph_.node(other).sources;
        if (other != id && std::any_of(sources.begin(), sources.end(), shares)) return false;
      }
    }
    if (last_[source] != computed_[id] || !allocation_.of_node[source]) return false;
    if (overlapping_ && kept_[id] != allocation_.of_node[source].own) return false;
    if (placement_.decisions[source].device != placement_.decisions[id].device) return false;
    const BufferType& type = *homes_[id].type;
    if (homes_[source].type != &type) return false;
    if (type.size_of(graph_.node(source).result) != type.size_of(node.result)) return false;
    allocation_.of_node[id] = allocation_.of_node[source];
    const Slot slot = allocation_.of_node[id];
    MemoryRequest& taken = group(slot).requests[slot.index];
    taken.last = std::max(taken.last, last_[id]);
    return true;
  }

  void request_nodes() {
    for (std::size_t segment = 0; segment < cut_.segments.size(); ++segment) {
      std::map<NodeId, InPlace> in_place;
      for (const InPlace& pair : programs_[segment]->needs().in_place) {
        in_place.try_emplace(pair.node, pair);
      }
      for (NodeId id : cut_.segments[segment].nodes) {
        const Node& node = graph_.node(id);
        if (node.storage != id) continue;  // it writes into the memory of another node
        if (elided_[id]) continue;
        const auto pair = in_place.find(id);
        if (pair != in_place.end() && take_over(id, pair->second)) continue;
        allocation_.of_node[id] =
            request(homes_[id], overlapping_ && kept_[id], homes_[id].type->size_of(node.result),
                    time_of(id), last_[id]);
      }
    }
  }

  void request_copies() {
    // A reader that is fused with a later node reads when that one is computed.
    const auto end_of_use = [&](const Copy& copy) {
      std::int64_t last = copy.last_reader == kNoNode ? end_of(copy.last_segment) : 0;
      for (const NodeId reader : copy.readers) last = std::max(last, computed_[reader]);
      return last;
    };
    std::vector<Slot>& slots = allocation_.of_copy;
    slots.resize(cut_.copies.size());
    for (std::size_t i = 0; i < cut_.copies.size(); ++i) {
      if (slots[i]) continue;
      const Copy& copy = cut_.copies[i];
      const Node& node = graph_.node(copy.node);
      // A weight is the same in every step: one place for all of them.
      const bool own = overlapping_ && !is_weight(graph_.node(node.storage).role);
      const Home home = home_of(copy);
      if (copy.batch == kNoBatch) {
        slots[i] = request(home, own, home.type->size_of(node.result), start_of(copy.earliest),
                           end_of_use(copy));
        continue;
      }
      const CopyBatch& batch = cut_.batches[copy.batch];
      std::int64_t last = 0;
      for (const std::size_t each : batch.copies) {
        last = std::max(last, end_of_use(cut_.copies[each]));
      }
      const Slot all = request(home, own, batch.bytes, start_of(copy.earliest), last);
      for (std::size_t k = 0; k < batch.copies.size(); ++k) {
        slots[batch.copies[k]] = all;
        slots[batch.copies[k]].offset = batch.offsets[k];
      }
    }
  }

  void request_scratch() {
    for (std::size_t segment = 0; segment < cut_.segments.size(); ++segment) {
      const std::size_t bytes = programs_[segment]->needs().scratch_bytes;
      const int index = cut_.segments[segment].device;
      allocation_.of_scratch.push_back(bytes == 0
                                           ? Slot{}
                                           : request({&device(index).memory(), index}, false, bytes,
                                                     start_of(segment), end_of(segment)));
    }
  }

  const Graph& graph_;
  const Placement& placement_;
  const SegmentedGraph& cut_;
  std::span<const std::unique_ptr<Program>> programs_;
  bool overlapping_;                                      // steps do
  std::vector<bool> kept_;                                // by owner of memory
  std::vector<bool> elided_;                              // by node
  std::vector<Home> homes_;                               // by node that owns memory
  std::vector<std::int64_t> computed_;                    // by node: when
  std::map<std::int64_t, std::vector<NodeId>> together_;  // by time: nodes computed with another
  std::int64_t end_ = 0;
  std::vector<std::int64_t> last_;  // by owner of memory: when it is used for the last time
  Allocation allocation_;
};

}  // namespace

Result<Allocation> allocate_plan(const Graph& graph, const Placement& placement,
                                 const SegmentedGraph& cut,
                                 std::span<const std::unique_ptr<Program>> programs,
                                 std::span<const NodeId> live_out, bool overlapping) {
  return Allocator(graph, placement, cut, programs, overlapping).run(live_out);
}

}  // namespace shunt
