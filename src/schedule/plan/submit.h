// Submitting the actions of a step: each goes to its stream, or is done by the host.
#pragma once

#include <atomic>
#include <functional>

#include "schedule/plan/copy_runs.h"
#include "schedule/plan/plan_trace.h"
#include "schedule/plan/step_instance.h"

namespace shunt {

/// Shows a node to an observer; false stops the step.
using Visit = std::function<bool(const Observed&)>;

/// Bytes that an action copies at the sizes of the instance's step.
std::size_t copied_bytes(const CompiledPlan& executable, const StepInstance& instance,
                         std::size_t action);

/// Whether more than one call of the stream copies them.
bool has_several_runs(const CompiledPlan& executable, const StepInstance& instance,
                      std::size_t action);

/// Submits actions of one step. Allocates nothing.
class StepSubmitter {
 public:
  /// `trace`: null if there is none; `number`: the instance's in the trace; `first`: the
  /// step before is not under way; `cancel` may be null; `threads` as in RunArgs. All must outlive
  /// it.
  struct Context {
    const CompiledPlan& executable;
    const Visit& visit;
    PlanTrace* trace = nullptr;
    std::size_t number = 0;
    bool first = false;
    const std::atomic<bool>* cancel = nullptr;
    int threads = 0;
  };
  StepSubmitter(const Context& context, StepInstance& instance)
      : context_(context), instance_(instance) {}

  Status submit(std::size_t action);

 private:
  Status submit_copy(const Action& action, std::size_t index);
  Status submit_run(const Action& action, const BoundAction& bound, const CopyRun& run,
                    std::span<Event* const> waits, Event* signal);
  Status write_gathered(const BoundAction& bound);
  Status pick(std::size_t action);
  Status show(std::size_t action);
  Status wait_on_host(std::size_t action);
  std::span<Event* const> waits_of(const BoundAction& bound) const {
    return bound.waits_for(context_.first);
  }

  Context context_;
  StepInstance& instance_;
};

}  // namespace shunt
