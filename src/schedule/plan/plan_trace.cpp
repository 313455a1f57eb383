#include "schedule/plan/plan_trace.h"

#include <algorithm>

namespace shunt {

PlanTrace::PlanTrace(Trace& trace, std::vector<TraceAction> actions, std::vector<Queue> queues,
                     std::size_t steps_in_flight)
    : trace_(trace), queues_(std::move(queues)), calls_(steps_in_flight * queues_.size()) {
  for (const Queue& queue : queues_) free_.resize(std::max(free_.size(), queue.stream + 1), 0);
  done_.reserve(queues_.size());
  first_ = trace_.declare(std::move(actions));
}

void PlanTrace::done(std::size_t instance, std::size_t action, std::uint64_t step,
                     std::uint64_t bytes, const Event* first, const Event* last) {
  const Queue& queue = queues_[action];
  TraceSpan span{.action = first_ + static_cast<std::uint32_t>(action),
                 .step = step,
                 .bytes = bytes,
                 .times = at(instance, action)};
  const auto told = last != nullptr ? last->times() : std::nullopt;
  const auto began = first != nullptr ? first->times() : std::nullopt;
  double& free = free_[queue.stream];
  if (told && began) {
    span.times = {began->begin, told->end, std::max(began->error, told->error)};
  } else if (queue.later) {
    span.seen_by_host = true;
    // A queue is in order: nothing begins before the work before it has ended.
    span.times.begin = std::max(span.times.begin, free);
    span.times.end = std::max(span.times.begin, trace_.now());
  }
  free = std::max(free, span.times.end);
  done_.push_back(span);
}

void PlanTrace::finish() {
  trace_.add(done_);
  done_.clear();
}

}  // namespace shunt
