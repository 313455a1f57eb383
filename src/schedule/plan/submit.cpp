#include "schedule/plan/submit.h"

#include "schedule/plan/node_bytes.h"
#include "shunt/message.h"

namespace shunt {

std::size_t copied_bytes(const CompiledPlan& executable, const StepInstance& instance,
                         std::size_t action) {
  const GatheredWrite* gathered = instance.actions[action].gathered;
  std::size_t bytes = 0;
  if (gathered == nullptr) {
    CopyRuns runs(executable.graph(), executable.actions()[action].parts, instance.dynamic_dims);
    while (const auto run = runs.next()) bytes += bytes_of(run->shape);
    return bytes;
  }
  for (const GatheredSlices::Run& run : gathered->slices.runs()) bytes += run.bytes;
  return bytes;
}

bool has_several_runs(const CompiledPlan& executable, const StepInstance& instance,
                      std::size_t action) {
  CopyRuns runs(executable.graph(), executable.actions()[action].parts, instance.dynamic_dims);
  return runs.next() && runs.next();
}

Status StepSubmitter::submit(std::size_t index) {
  if (context_.cancel != nullptr && context_.cancel->load(std::memory_order_relaxed)) {
    return fail(ErrorCode::kCancelled, "cancelled");
  }
  const Action& action = context_.executable.actions()[index];
  const BoundAction& bound = instance_.actions[index];
  switch (action.kind) {
    case ActionKind::kRun:
      return bound.stream->run(*bound.binding,
                               {instance_.dynamic_dims, context_.cancel, context_.threads},
                               waits_of(bound), bound.done.get());
    case ActionKind::kObserve:
      return show(index);
    case ActionKind::kGather:
      return pick(index);
    case ActionKind::kWrite:
    case ActionKind::kRead:
    case ActionKind::kCopy:
      break;
  }
  return bound.gathered != nullptr ? write_gathered(bound) : submit_copy(action, index);
}

/// One call for each run. The first waits, and the last signals: an error of any of them reaches
/// it, as the stream has failed.
Status StepSubmitter::submit_copy(const Action& action, std::size_t index) {
  const BoundAction& bound = instance_.actions[index];
  CopyRuns runs(context_.executable.graph(), action.parts, instance_.dynamic_dims);
  std::optional<CopyRun> run = runs.next();
  if (!run) run.emplace();  // nothing, but there is an event to signal
  std::span<Event* const> waits = waits_of(bound);
  for (bool first = true; run; first = false) {
    const std::optional<CopyRun> following = runs.next();
    Event* const signal = !following ? bound.done.get() : first ? bound.began.get() : nullptr;
    SHUNT_TRY(submit_run(action, bound, *run, waits, signal));
    run = following;
    waits = {};
  }
  return ok();
}

Status StepSubmitter::submit_run(const Action& action, const BoundAction& bound, const CopyRun& run,
                                 std::span<Event* const> waits, Event* signal) {
  const CopyShape& shape = run.shape;
  const bool rows = shape.rows > 1;
  std::byte* const host = bound.host == nullptr ? nullptr : bound.host + run.offset;
  const Address to = {bound.to.buffer, bound.to.offset + run.offset};
  const Address from = {bound.from.buffer, bound.from.offset + run.offset};
  if (action.kind == ActionKind::kWrite) {
    return rows ? bound.stream->write_2d(to, host, shape, waits, signal)
                : bound.stream->write(to, {host, shape.bytes}, waits, signal);
  }
  if (action.kind == ActionKind::kRead) {
    return rows ? bound.stream->read_2d(host, from, shape, waits, signal)
                : bound.stream->read({host, shape.bytes}, from, waits, signal);
  }
  return rows ? bound.stream->copy_2d(to, from, shape, waits, signal)
              : bound.stream->copy(to, from, shape.bytes, waits, signal);
}

/// Each write waits for the one before, so that an error of any of them reaches the last.
Status StepSubmitter::write_gathered(const BoundAction& bound) {
  const auto runs = bound.gathered->slices.runs();
  const std::span<Event* const> waits = waits_of(bound);
  if (runs.empty()) return bound.stream->write(bound.to, {}, waits, bound.done.get());
  Event* before = nullptr;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const GatheredSlices::Run& run = runs[i];
    // The first keeps its own event, which gives the trace the start of the action.
    Event* const link = bound.gathered->links[i == 0 ? 0 : 1 + i % 2].get();
    Event* const signal = i + 1 < runs.size() ? link : bound.done.get();
    SHUNT_TRY(bound.stream->write({bound.to.buffer, bound.to.offset + run.offset},
                                  {bound.host + run.offset, run.bytes},
                                  i == 0 ? waits : std::span<Event* const>(&before, 1), signal));
    before = link;
  }
  return ok();
}

Status StepSubmitter::pick(std::size_t action) {
  SHUNT_TRY(wait_on_host(action));
  const BoundAction& bound = instance_.actions[action];
  return bound.gathered->slices.find(bound.host, instance_.dynamic_dims);
}

Status StepSubmitter::show(std::size_t action) {
  SHUNT_TRY(wait_on_host(action));
  const Graph& graph = context_.executable.graph();
  const NodeId id = context_.executable.actions()[action].node;
  const Tensor& tensor = graph.node(id).result;
  const Observed observed{.node = id,
                          .tensor = tensor,
                          .sizes = actual_sizes(tensor, instance_.dynamic_dims),
                          .bytes = {instance_.actions[action].host,
                                    actual_bytes_of(graph, id, instance_.dynamic_dims)}};
  if (context_.visit(observed)) return ok();
  return fail(ErrorCode::kCancelled, "the observer stopped it at {}", graph.describe(id));
}

/// Before the host's own work, which begins when it has waited.
Status StepSubmitter::wait_on_host(std::size_t action) {
  for (Event* event : waits_of(instance_.actions[action])) SHUNT_TRY(event->wait());
  if (context_.trace != nullptr) context_.trace->submitting(context_.number, action);
  return ok();
}

}  // namespace shunt
