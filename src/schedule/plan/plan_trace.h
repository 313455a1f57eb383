// Reporting the actions of a running plan to a trace.
#pragma once

#include <vector>

#include "shunt/trace.h"

namespace shunt {

/// Times of the actions of all steps in flight. Devices that measure times give their own times.
/// For other devices the host's times are kept: those of the call if it does the work, else from
/// submitting until the host saw it done. Nothing here allocates once it is made.
class PlanTrace {
 public:
  /// An action's queue, and whether submitted work is done later.
  struct Queue {
    std::size_t stream = 0;
    bool later = false;
  };
  /// `queues`: by action, as in `actions`; streams count from 0.
  PlanTrace(Trace& trace, std::vector<TraceAction> actions, std::vector<Queue> queues,
            std::size_t steps_in_flight);

  void submitting(std::size_t instance, std::size_t action) {
    at(instance, action).begin = trace_.now();
  }
  void submitted(std::size_t instance, std::size_t action) {
    at(instance, action).end = trace_.now();
  }
  /// After its events were waited for: those of its first and its last part, which may be the same;
  /// null if it has none. Actions of a step in their order.
  void done(std::size_t instance, std::size_t action, std::uint64_t step, std::uint64_t bytes,
            const Event* first, const Event* last);
  /// Hands over the spans of a step.
  void finish();

 private:
  WorkTimes& at(std::size_t instance, std::size_t action) {
    return calls_[instance * queues_.size() + action];
  }

  Trace& trace_;
  std::uint32_t first_ = 0;
  std::vector<Queue> queues_;
  std::vector<WorkTimes> calls_;  // [instance][action]: when it was submitted
  std::vector<double> free_;      // by stream: when the last that was seen done had ended
  std::vector<TraceSpan> done_;
};

}  // namespace shunt
