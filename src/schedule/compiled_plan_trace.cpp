// What a compiled plan tells a trace about itself, and about each step.
#include "schedule/compiled_plan.h"

namespace shunt {

bool CompiledPlan::is_copy(std::size_t action) const {
  const Kind kind = actions_[action].kind;
  return kind == Kind::kWrite || kind == Kind::kRead || kind == Kind::kCopy;
}

/// Whether the action after it is the next part of the same copy: into a device what came out of
/// another, or slices that have been picked.
bool CompiledPlan::goes_on(std::size_t action) const {
  const Copy* copy = actions_[action].copy;
  return copy != nullptr && action + 1 < actions_.size() && actions_[action + 1].copy == copy;
}

TraceAction CompiledPlan::describe_run(std::size_t action) const {
  const Segment& segment = cut_.segments[actions_[action].segment];
  TraceAction made{.kind = TraceKind::kSegment, .nodes = segment.nodes.size()};
  made.first = graph_->describe(segment.nodes.front());
  made.last = graph_->describe(segment.nodes.back());
  made.name = made.nodes == 1 ? made.first : made.first + " to " + made.last;
  // Copies for a segment come right before it. One to the host is for the copies that follow it.
  for (std::size_t i = action; i-- > 0 && actions_[i].segment == actions_[action].segment;) {
    if (!is_copy(i) || goes_on(i) || actions_[i].copy->to != segment.device) continue;
    made.after.push_back(static_cast<std::uint32_t>(i));
  }
  return made;
}

/// What brings or makes what a copy, or a part of one, needs; nothing if it is there.
std::optional<std::size_t> CompiledPlan::source_of(std::size_t action) const {
  if (action > 0 && goes_on(action - 1)) return action - 1;
  const Action& of = actions_[action];
  const NodeId needed = of.kind == Kind::kPick ? of.copy->picked.ids : of.node;
  const int cpu = static_cast<int>(placement_.devices.size()) - 1;
  const Copy* brought = nullptr;  // where others are copied from is where they were made
  for (const Cut::Use& use : cut_.uses[of.segment]) {
    const Copy& copy = cut_.copies[use.copy];
    if (of.kind == Kind::kPick && use.node == needed && copy.to == cpu) brought = &copy;
  }
  const std::size_t maker = cut_.segment_of[graph_->node(needed).storage];
  for (std::size_t i = action; i-- > 0;) {
    const Action& before = actions_[i];
    if (brought != nullptr ? before.copy == brought
                           : before.kind == Kind::kRun && before.segment == maker) {
      return i;
    }
  }
  return std::nullopt;
}

TraceAction CompiledPlan::describe_other(std::size_t action) const {
  static constexpr std::array<TraceKind, 6> kKinds = {TraceKind::kSegment, TraceKind::kWrite,
                                                      TraceKind::kRead,    TraceKind::kCopy,
                                                      TraceKind::kObserve, TraceKind::kPick};
  TraceAction made{.kind = kKinds[static_cast<std::size_t>(actions_[action].kind)],
                   .name = graph_->describe(actions_[action].node)};
  if (actions_[action].copy == nullptr) return made;
  if (const auto source = source_of(action)) {
    made.after.push_back(static_cast<std::uint32_t>(*source));
  }
  return made;
}

void CompiledPlan::declare_actions(Trace& trace) {
  std::vector<TraceAction> described;
  std::vector<PlanTrace::Queue> queues;
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    const Action& action = actions_[i];
    TraceAction& made =
        described.emplace_back(action.kind == Kind::kRun ? describe_run(i) : describe_other(i));
    made.segment = action.segment;
    if (action.stream == nullptr) {  // a queue of its own, after those of the devices
      made.stream = "host";
      queues.push_back({.stream = placement_.devices.size(), .later = false});
      continue;
    }
    const auto device = static_cast<std::size_t>(action.device);
    const DeviceInfo info = placement_.devices[device]->info();
    made.stream = info.name;
    queues.push_back({device, info.asynchronous});
  }
  traced_ = std::make_unique<PlanTrace>(trace, std::move(described), std::move(queues),
                                        instances_.size());
}

void CompiledPlan::tell_trace(const Instance& instance, std::size_t action) {
  const Place& place = instance.places[action];
  const Event* first = place.done.get();
  if (is_copy(action) && place.picked != nullptr && place.picked->slices.runs().size() > 1) {
    first = place.picked->links.front().get();
  }
  const std::size_t bytes = is_copy(action) ? copied_bytes(instance, action) : 0;
  traced_->done(number_of(instance), action, instance.step, bytes, first, place.done.get());
}

}  // namespace shunt
