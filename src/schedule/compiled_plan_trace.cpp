// What a compiled plan tells a trace about itself, and about each step.
#include "schedule/compiled_plan.h"

namespace shunt {

bool CompiledPlan::is_copy(std::size_t action) const {
  const Kind kind = actions_[action].kind;
  return kind != Kind::kRun && kind != Kind::kObserve;
}

/// Whether an action brings to its device what the one before it has brought to the host.
bool CompiledPlan::is_second_half(std::size_t action) const {
  if (action == 0) return false;
  const Action& first = actions_[action - 1];
  const Action& second = actions_[action];
  return first.kind == Kind::kRead && second.kind == Kind::kWrite && first.node == second.node &&
         first.segment == second.segment;
}

TraceAction CompiledPlan::describe_run(std::size_t action) const {
  const std::vector<NodeId>& nodes = cut_.segments[actions_[action].segment].nodes;
  TraceAction made{.kind = TraceKind::kSegment, .nodes = nodes.size()};
  made.first = graph_->describe(nodes.front());
  made.last = graph_->describe(nodes.back());
  made.name = nodes.size() == 1 ? made.first : made.first + " to " + made.last;
  // Copies for a segment come right before it.
  for (std::size_t i = action; i-- > 0 && actions_[i].segment == actions_[action].segment;) {
    if (is_copy(i) && !is_second_half(i + 1)) made.after.push_back(static_cast<std::uint32_t>(i));
  }
  return made;
}

TraceAction CompiledPlan::describe_other(std::size_t action) const {
  static constexpr std::array<TraceKind, 5> kKinds = {TraceKind::kSegment, TraceKind::kWrite,
                                                      TraceKind::kRead, TraceKind::kCopy,
                                                      TraceKind::kObserve};
  const NodeId node = actions_[action].node;
  TraceAction made{.kind = kKinds[static_cast<std::size_t>(actions_[action].kind)],
                   .name = graph_->describe(node)};
  if (is_second_half(action)) made.after.push_back(static_cast<std::uint32_t>(action - 1));
  if (is_second_half(action) || !is_copy(action)) return made;
  const std::size_t maker = cut_.segment_of[graph_->node(node).storage];
  for (std::size_t i = 0; i < action && maker != kNoSegment; ++i) {
    if (actions_[i].kind != Kind::kRun || actions_[i].segment != maker) continue;
    made.after.push_back(static_cast<std::uint32_t>(i));
  }
  return made;
}

void CompiledPlan::declare_actions(Trace& trace) {
  std::vector<TraceAction> described;
  std::vector<PlanTrace::Queue> queues;
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    described.push_back(actions_[i].kind == Kind::kRun ? describe_run(i) : describe_other(i));
    TraceAction& made = described.back();
    made.segment = actions_[i].segment;
    made.stream = "host";
    queues.push_back({.stream = streams_.size(), .later = false});
    for (std::size_t device = 0; device < streams_.size(); ++device) {
      if (actions_[i].stream == nullptr || streams_[device].get() != actions_[i].stream) continue;
      const DeviceInfo info = placement_.devices[device]->info();
      made.stream = info.name;
      queues.back() = {device, info.asynchronous};
    }
  }
  traced_ = std::make_unique<PlanTrace>(trace, std::move(described), std::move(queues),
                                        instances_.size());
}

void CompiledPlan::tell_trace(const Instance& instance, std::size_t action) {
  const std::size_t bytes = is_copy(action) ? copied_bytes(instance, actions_[action]) : 0;
  traced_->done(number_of(instance), action, instance.step, bytes,
                instance.places[action].done.get());
}

}  // namespace shunt
