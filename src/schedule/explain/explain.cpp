// Explaining a placed and cut graph to people.
#include "shunt/explain.h"

#include <algorithm>
#include <limits>
#include <map>

#include "device/device_set.h"
#include "graph/op.h"
#include "graph/per_node.h"
#include "graph/storage_users.h"
#include "schedule/explain/fallback.h"
#include "schedule/plan/node_bytes.h"
#include "shunt/message.h"

namespace shunt {

namespace {

class Explainer {
 public:
  Explainer(const Graph& graph, const Placement& placement)
      : graph_(graph), placement_(placement), devices_(placement.devices), maker_(graph, kNobody) {
    for (Device* device : placement.devices)
      explanation_.devices.emplace_back().name = device->name();
  }

  Explanation explain(std::span<const Segment> segments) {
    if (placement_.predicted_seconds > 0) explanation_.seconds = placement_.predicted_seconds;
    for (const Segment& segment : segments) add_segment(segment);
    bring_results_home(segments);
    add_times();
    for (NodeId id = 0; id < graph_.size(); ++id) count_node(id);
    explanation_.notes = placement_.notes;
    for (const Conversion& conversion : placement_.conversions) {
      ExplainedDevice& on = device(conversion.device);
      explanation_.transcoded.push_back(describe_conversion(graph_, conversion, on.name));
      const TranscodedWeight& weight = explanation_.transcoded.back();
      // A graph that still has the type before the conversion.
      if (graph_.node(conversion.leaf).result.dtype == conversion.from)
        on.weight_bytes += weight.bytes - weight.bytes_before;
    }
    return std::move(explanation_);
  }

 private:
  static constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

  ExplainedDevice& device(DeviceIndex index) {
    return DeviceSpan<ExplainedDevice>(explanation_.devices)[index];
  }
  std::uint64_t bytes_of(NodeId id) const {
    return static_cast<std::uint64_t>(byte_span(graph_.node(id).result));
  }

  std::uint64_t copied_bytes(NodeId id) const {
    return shunt::bytes_of(copy_shape(graph_.node(id).result, graph_.max_dynamic_dims()));
  }

  ExplainedTransfer transfer(NodeId id, int to, std::uint64_t bytes) {
    const NodeId owner = graph_.node(id).storage;
    ExplainedTransfer made;
    made.node = id;
    made.name = graph_.describe(id);
    made.from = placement_.decisions[owner].device;
    made.to = to;
    made.bytes = bytes;
    device(made.from).bytes_out += made.bytes;
    device(to).bytes_in += made.bytes;
    explanation_.bytes_copied += made.bytes;
    if (maker_[owner] != kNobody) explanation_.segments[maker_[owner]].bytes_out += made.bytes;
    return made;
  }

  ExplainedNode explained(NodeId id) const {
    const Decision& decision = placement_.decisions[id];
    ExplainedNode node;
    node.id = id;
    node.name = graph_.describe(id);
    node.op = graph_.node(id).op->info().name;
    node.reason = fmt::format("{}: {}", to_string(decision.rule), decision.reason);
    node.rejected = decision.rejected;
    node.fell_back = fallback_cause(placement_, id) != nullptr;
    return node;
  }

  double seconds_of(const Segment& segment) const {
    double seconds = 0;
    for (NodeId id : segment.nodes) seconds += placement_.decisions[id].seconds;
    return seconds;
  }

  void add_segment(const Segment& segment) {
    ExplainedSegment made;
    made.device = segment.device;
    for (const Transfer& each : segment.transfers) {
      made.transfers.push_back(transfer(each.node, each.to, each.bytes));
      made.transfers.back().merged = each.merged;
      if (each.to == segment.device) made.bytes_in += each.bytes;
    }
    for (NodeId id : segment.nodes) {
      made.nodes.push_back(explained(id));
      if (made.nodes.back().fell_back) ++made.fell_back;
      maker_[graph_.node(id).storage] = explanation_.segments.size();
    }
    if (!made.nodes.empty()) made.reason = made.nodes.front().reason;
    ExplainedDevice& on = device(segment.device);
    if (explanation_.seconds) {
      made.seconds = seconds_of(segment);
      on.seconds = on.seconds.value_or(0) + *made.seconds;
    }
    ++on.segments;
    on.operations += made.nodes.size();
    on.fell_back += made.fell_back;
    explanation_.operations += made.nodes.size();
    explanation_.fell_back += made.fell_back;
    explanation_.segments.push_back(std::move(made));
  }

  /// Outputs in memory that the host can't read, and that were not copied to the CPU since they
  /// were last written.
  void bring_results_home(std::span<const Segment> segments) {
    const DeviceIndex cpu = devices_.cpu();
    const Device& host = devices_.cpu_device();
    for (NodeId id : graph_.outputs()) {
      const NodeId owner = graph_.node(id).storage;
      const int from = placement_.decisions[owner].device;
      if (host.can_read(devices_[from]->memory())) continue;
      bool there = false;
      for (std::size_t i = maker_[owner] + 1; i < segments.size(); ++i) {
        for (const Transfer& each : segments[i].transfers) {
          there = there || (each.node == id && each.to == cpu);
        }
      }
      if (!there) explanation_.results.push_back(transfer(id, cpu, copied_bytes(id)));
    }
  }

  /// Where times are predicted: a copy of the placement is the transfer of its node's result.
  void add_times() {
    if (!explanation_.seconds) return;
    std::map<std::pair<NodeId, int>, const PredictedCopy*> copies;
    for (const PredictedCopy& copy : placement_.predicted_copies) {
      copies.emplace(std::pair(copy.node, copy.to), &copy);
    }
    const auto add = [&](ExplainedTransfer& transfer) {
      const auto copy = copies.find({maker_of(graph_, transfer.node), transfer.to});
      if (copy == copies.end()) return;
      transfer.when = {copy->second->start, copy->second->end};
      copies.erase(copy);
    };
    for (ExplainedSegment& segment : explanation_.segments) {
      std::for_each(segment.transfers.begin(), segment.transfers.end(), add);
      if (segment.nodes.empty()) continue;
      const Decision& last = placement_.decisions[segment.nodes.back().id];
      segment.when = {placement_.decisions[segment.nodes.front().id].start,
                      last.start + last.seconds};
    }
    std::for_each(explanation_.results.begin(), explanation_.results.end(), add);
  }

  void count_node(NodeId id) {
    const Node& node = graph_.node(id);
    ExplainedDevice& on = device(placement_.decisions[id].device);
    ++on.nodes;
    if (!node.is_leaf()) return;
    if (node.role == Role::kCache) on.cache_bytes += bytes_of(id);
    if (is_weight(node.role)) {
      on.weight_bytes += bytes_of(id);
    }
  }

  const Graph& graph_;
  const Placement& placement_;
  DeviceSet devices_;
  PerNode<std::size_t> maker_;  // by owner of memory: the segment that last wrote into it
  Explanation explanation_;
};

}  // namespace

Explanation explain(const Graph& graph, const Placement& placement,
                    std::span<const Segment> segments) {
  return Explainer(graph, placement).explain(segments);
}

}  // namespace shunt
