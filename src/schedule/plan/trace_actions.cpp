#include "schedule/plan/trace_actions.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "base/to_size.h"
#include "device/device_set.h"

namespace shunt {

namespace {

constexpr std::size_t kNoAction = ~std::size_t{0};

TraceKind trace_kind(ActionKind kind) {
  switch (kind) {
    case ActionKind::kRun:
      return TraceKind::kSegment;
    case ActionKind::kWrite:
      return TraceKind::kWrite;
    case ActionKind::kRead:
      return TraceKind::kRead;
    case ActionKind::kCopy:
      return TraceKind::kCopy;
    case ActionKind::kObserve:
      return TraceKind::kObserve;
    case ActionKind::kGather:
      return TraceKind::kGather;
  }
  return TraceKind::kHost;
}

class ActionDescriber {
 public:
  explicit ActionDescriber(const CompiledPlan& executable)
      : executable_(executable),
        graph_(executable.graph()),
        cut_(executable.cut()),
        actions_(executable.actions()),
        of_segment_(cut_.segments.size(), kNoAction),
        of_copy_(cut_.copies.size(), kNoAction),
        copies_for_(cut_.segments.size() + 1) {
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      const Action& action = actions_[i];
      if (action.kind == ActionKind::kRun) of_segment_[action.segment] = i;
      if (action.copy != kNoCopy) of_copy_[action.copy] = i;
      if (is_copy(action.kind) && !goes_on(i)) copies_for_[action.segment].push_back(i);
      for (const CopyPart& part : action.parts) of_copy_[part.copy] = i;
    }
  }

  TracedActions run() const {
    TracedActions traced;
    const std::span<Device* const> devices = executable_.devices();
    PerDevice<DeviceInfo> infos(devices.size());
    for (const DeviceIndex device : infos.indices()) {
      infos[device] = device_at(devices, device).info();
    }
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      const Action& action = actions_[i];
      TraceAction& made = traced.actions.emplace_back(
          action.kind == ActionKind::kRun ? describe_run(i) : describe_other(i));
      made.segment = action.segment;
      if (action.device == kHostAction) {  // a queue of its own, after those of the devices
        made.stream = "host";
        traced.queues.push_back({.stream = 2 * devices.size(), .later = false});
        continue;
      }
      const DeviceInfo& info = infos[action.device];
      made.stream = info.name + (action.queue == Queue::kTransfer ? " transfer" : "");
      traced.queues.push_back({to_size(stream_number(action)), info.asynchronous});
    }
    return traced;
  }

 private:
  /// Whether the action after it is the next part of the same copy: into a device the data from
  /// another, or slices that have been gathered.
  bool goes_on(std::size_t action) const {
    const std::size_t copy = actions_[action].copy;
    return copy != kNoCopy && action + 1 < actions_.size() && actions_[action + 1].copy == copy;
  }

  TraceAction describe_run(std::size_t action) const {
    const Segment& segment = cut_.segments[actions_[action].segment];
    TraceAction made{.kind = TraceKind::kSegment, .nodes = segment.nodes.size()};
    made.first = graph_.describe(segment.nodes.front());
    made.last = graph_.describe(segment.nodes.back());
    made.name = made.nodes == 1 ? made.first : made.first + " to " + made.last;
    // One to the host is for the copies that follow it.
    for (const std::size_t i : std::views::reverse(copies_for_[actions_[action].segment])) {
      if (cut_.copies[actions_[i].copy].to != segment.device) continue;
      made.after.push_back(static_cast<std::uint32_t>(i));
    }
    return made;
  }

  TraceAction describe_other(std::size_t action) const {
    const Action& of = actions_[action];
    TraceAction made{
        .kind = trace_kind(of.kind), .name = graph_.describe(of.node), .nodes = of.parts.size()};
    if (made.nodes > 1) made.name += " to " + graph_.describe(of.parts.back().node);
    if (of.copy == kNoCopy) return made;
    const auto add_source = [&](NodeId node) {
      const std::size_t source = source_of(action, node);
      const auto number = static_cast<std::uint32_t>(source);
      if (source == kNoAction || std::ranges::count(made.after, number) > 0) return;
      made.after.push_back(number);
    };
    if (of.parts.empty()) add_source(of.node);
    for (const CopyPart& part : of.parts) add_source(part.node);
    return made;
  }

  /// The action that brings or computes the source of a copied tensor; kNoAction if that exists
  /// before a step.
  std::size_t source_of(std::size_t action, NodeId node) const {
    if (action > 0 && goes_on(action - 1)) return action - 1;
    const Action& of = actions_[action];
    const bool picks = of.kind == ActionKind::kGather;
    const NodeId needed = picks ? cut_.copies[of.copy].gathered.ids : node;
    // The host reads the numbers of slices from a copy of its own if it has one. Other copies start
    // where their source was computed.
    std::size_t found = kNoAction;
    if (const std::size_t maker = cut_.segment_of[graph_.node(needed).storage];
        maker != kNoSegment) {
      found = of_segment_[maker];
    }
    if (!picks) return found;
    for (const SegmentedGraph::Use& use : cut_.uses[of.segment]) {
      if (use.node != needed || cut_.copies[use.copy].to != cpu_of(executable_.devices())) continue;
      found = of_copy_[use.copy];
    }
    return found;
  }

  const CompiledPlan& executable_;
  const Graph& graph_;
  const SegmentedGraph& cut_;
  std::span<const Action> actions_;
  std::vector<std::size_t> of_segment_;               // by segment: its kRun action
  std::vector<std::size_t> of_copy_;                  // by copy: its last action
  std::vector<std::vector<std::size_t>> copies_for_;  // by segment: last actions of its copies
};

}  // namespace

TracedActions describe_actions(const CompiledPlan& executable) {
  return ActionDescriber(executable).run();
}

}  // namespace shunt
