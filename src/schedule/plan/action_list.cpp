#include "schedule/plan/action_list.h"

#include <algorithm>
#include <span>
#include <utility>

#include "device/device_set.h"
#include "graph/storage_users.h"
#include "schedule/plan/local_addresses.h"
#include "schedule/plan/node_bytes.h"

namespace shunt {

namespace {

class ActionLister {
 public:
  ActionLister(CompiledPlan::Parts& parts, std::span<const CopyRoute> routes)
      : parts_(parts),
        graph_(*parts.graph),
        cut_(parts.cut),
        layout_(parts.layout),
        routes_(routes),
        local_(parts.cut, parts.layout.of_node, parts.layout.of_copy),
        written_(graph_.size(), false) {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (graph_.node(id).writes_storage) written_[graph_.node(id).storage] = true;
    }
  }

  void run(std::span<const NodeId> live_out, const std::vector<bool>& watched) {
    const int cpu = cpu_of(parts_.placement.devices);
    const std::vector<std::vector<std::size_t>> copies = copies_by_segment();
    for (std::size_t i = 0; i <= cut_.segments.size(); ++i) {
      for (const std::size_t copy : copies[i]) {
        const Gathered& gathered = cut_.copies[copy].gathered;
        if (gathered) add_gather(copy, local_.of(i, cpu)[gathered.ids]);
        const bool merged = add_copy(copy);
        if (Transfer* const transfer = transfer_of(copy)) transfer->merged = merged;
      }
      if (i > 0 && !watched.empty()) {
        const NodeId last = cut_.segments[i - 1].nodes.back();
        if (watched[last]) add_observe(i, last, local_.of(i, cpu)[last]);
      }
      if (i < cut_.segments.size()) add_run(i);
    }
    const std::span<const PlanAddress> on_host = local_.of(cut_.segments.size(), cpu);
    for (NodeId id : live_out) parts_.readable.push_back({id, on_host[id]});
    parts_.waits = find_waits(footprints_);
    parts_.stages =
        find_stages(parts_.actions, parts_.waits, parts_.placement.devices, parts_.steps_in_flight);
  }

 private:
  /// By segment: the copies that are listed before it, its own first. A weight's memory may be its
  /// own since the device's segment before. Such a weight is listed behind that segment. So a
  /// segment of another device in between, which may block the thread that submits, does not delay
  /// it.
  std::vector<std::vector<std::size_t>> copies_by_segment() const {
    std::vector<std::vector<std::size_t>> listed(cut_.segments.size() + 1);
    std::vector<std::pair<std::size_t, std::size_t>> early;  // segments, copies
    for (std::size_t i = 0; i < cut_.copies.size(); ++i) {
      const Copy& copy = cut_.copies[i];
      if (copy.earliest + 1 < copy.segment && is_constant_on_host(i)) {
        early.emplace_back(copy.earliest + 1, i);
      } else {
        listed[copy.segment].push_back(i);
      }
    }
    for (const auto& [segment, each] : early) listed[segment].push_back(each);
    return listed;
  }

  /// Whether the source of a copy exists since before the step, in memory that the host can access.
  bool is_constant_on_host(std::size_t index) const {
    const NodeId owner = graph_.node(cut_.copies[index].node).storage;
    return is_weight(graph_.node(owner).role) && !written_[owner] &&
           routes_[index].kind == RouteKind::kFromHost;
  }

  /// Null for a copy of results.
  Transfer* transfer_of(std::size_t index) {
    const std::size_t segment = cut_.copies[index].segment;
    if (segment == cut_.segments.size()) return nullptr;
    const auto first = std::ranges::lower_bound(cut_.copies, segment, {}, &Copy::segment);
    const std::size_t before = std::span(cut_.copies.begin(), first).size();
    return &parts_.cut.segments[segment].transfers[index - before];
  }

  void add(Action action, Footprint footprint) {
    footprint.stream = stream_number(action);
    parts_.actions.push_back(std::move(action));
    footprints_.push_back(std::move(footprint));
  }

  /// Whether it became a part of the copy before it.
  bool add_copy(std::size_t index) {
    const Copy& copy = cut_.copies[index];
    const PlanAddress from = layout_.of_node[copy.node];
    const PlanAddress to = layout_.of_copy[index];
    switch (routes_[index].kind) {
      case RouteKind::kFromHost:
        return add_part(index, ActionKind::kWrite, copy.to, from, to);
      case RouteKind::kToHost:
        return add_part(index, ActionKind::kRead, copy.from, from, to);
      case RouteKind::kDirect:
        return add_part(index, ActionKind::kCopy, copy.to, from, to);
      case RouteKind::kThroughHost:
        break;
    }
    const bool read = add_part(index, ActionKind::kRead, copy.from, from, layout_.staging[index]);
    const bool written = add_part(index, ActionKind::kWrite, copy.to, layout_.staging[index], to);
    return read && written;
  }

  bool add_part(std::size_t index, ActionKind kind, int device, const PlanAddress& from,
                const PlanAddress& to) {
    const Copy& copy = cut_.copies[index];
    const std::size_t bytes = bytes_of(graph_, copy.node);
    Action action{.kind = kind,
                  .device = device,
                  .queue = queue_of(kind, device, copy.node),
                  .segment = copy.segment,
                  .node = copy.node,
                  .copy = index,
                  .from = from,
                  .to = to,
                  .parts = {{copy.node, index, 0}}};
    if (merge(action, bytes)) return true;
    add(std::move(action), {.reads = {region(from, bytes)}, .writes = {region(to, bytes)}});
    return false;
  }

  /// A result is read in the queue that computes it. In the transfer queue, which is in order, the
  /// writes of the next step would wait for that read, and so for the segment.
  Queue queue_of(ActionKind kind, int device, NodeId node) const {
    if (!device_at(parts_.placement.devices, device).has_transfer_queue()) return Queue::kCompute;
    const NodeId owner = graph_.node(node).storage;
    const bool computed = !graph_.node(owner).is_leaf() || written_[owner];
    return kind == ActionKind::kRead && computed ? Queue::kCompute : Queue::kTransfer;
  }

  /// Whether a tensor continues the copy before it, and has become a part of that: both ends
  /// adjacent, with nothing between the two tensors except members of their batch.
  bool merge(const Action& action, std::size_t bytes) {
    if (parts_.actions.empty()) return false;
    Action& before = parts_.actions.back();
    if (before.kind != action.kind || before.segment != action.segment) return false;
    if (stream_number(before) != stream_number(action)) return false;
    if (!same_buffer(before.from, action.from) || !same_buffer(before.to, action.to)) return false;
    const CopyPart& last = before.parts.back();
    if (cut_.copies[action.copy].gathered || cut_.copies[last.copy].gathered) return false;
    const std::size_t offset = action.from.offset - before.from.offset;
    if (offset != action.to.offset - before.to.offset || action.from.offset < before.from.offset) {
      return false;
    }
    const std::size_t batch = cut_.copies[action.copy].batch;
    const bool together = batch != kNoBatch && batch == cut_.copies[last.copy].batch;
    const std::size_t end = last.offset + bytes_of(graph_, last.node);
    if (together ? offset < end : offset != end) return false;
    before.parts.push_back({action.node, action.copy, offset});
    Footprint& footprint = footprints_.back();
    footprint.reads = {region(before.from, offset + bytes)};
    footprint.writes = {region(before.to, offset + bytes)};
    return true;
  }

  static bool same_buffer(const PlanAddress& a, const PlanAddress& b) {
    return a.leaf == b.leaf && a.block == b.block;
  }

  void add_gather(std::size_t index, const PlanAddress& ids) {
    const Copy& copy = cut_.copies[index];
    add({.kind = ActionKind::kGather,
         .segment = copy.segment,
         .node = copy.node,
         .copy = index,
         .from = ids},
        {.reads = {region(ids, bytes_of(graph_, copy.gathered.ids))}, .writes = {}});
  }

  void add_observe(std::size_t segment, NodeId node, const PlanAddress& at) {
    add({.kind = ActionKind::kObserve, .segment = segment, .node = node, .from = at},
        {.reads = {region(at, bytes_of(graph_, node))}, .writes = {}});
  }

  void add_run(std::size_t segment) {
    const int device = cut_.segments[segment].device;
    const std::span<const PlanAddress> where = local_.of(segment, device);
    Footprint footprint;
    if (const PlanAddress& scratch = layout_.of_scratch[segment]) {
      footprint.writes.push_back(region(scratch, parts_.programs[segment]->needs().scratch_bytes));
    }
    const auto touch = [&](std::vector<Region>& regions, NodeId node) {
      // A kernel may touch the padding, too.
      if (const PlanAddress& at = where[node]) regions.push_back(region(at, padded(at, node)));
    };
    for (NodeId id : cut_.segments[segment].nodes) {
      touch(footprint.writes, id);
      for (NodeId source : graph_.node(id).sources) {
        if (source != kNoNode) touch(footprint.reads, source);
      }
    }
    add({.kind = ActionKind::kRun, .device = device, .segment = segment}, std::move(footprint));
  }

  Region region(const PlanAddress& at, std::size_t bytes) const {
    if (at.leaf != nullptr) return {at.leaf, at.offset, at.offset + bytes, false};
    const PlanBlock& block = layout_.blocks[at.block];
    return {&block, at.offset, at.offset + bytes, block.own};
  }

  std::size_t padded(const PlanAddress& at, NodeId node) const {
    const BufferType& type = at.leaf != nullptr ? at.leaf->type() : *layout_.blocks[at.block].type;
    return type.size_of(graph_.node(node).result);
  }

  CompiledPlan::Parts& parts_;
  const Graph& graph_;
  const SegmentedGraph& cut_;
  const PlanLayout& layout_;
  std::span<const CopyRoute> routes_;
  LocalAddresses<PlanAddress> local_;
  std::vector<Footprint> footprints_;  // by action
  std::vector<bool> written_;          // by owner of memory
};

}  // namespace

void list_actions(CompiledPlan::Parts& parts, std::span<const CopyRoute> routes,
                  std::span<const NodeId> live_out, const std::vector<bool>& watched) {
  ActionLister(parts, routes).run(live_out, watched);
}

}  // namespace shunt
