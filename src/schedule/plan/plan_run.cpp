#include "schedule/plan/plan_run.h"

#include <algorithm>

#include "schedule/plan/node_bytes.h"
#include "schedule/plan/trace_actions.h"
#include "shunt/message.h"

namespace shunt {

Status Plan::run(const std::atomic<bool>* cancel) {
  SHUNT_ASSIGN(const std::uint64_t step, start(cancel));
  return wait(step);
}

PlanRun::PlanRun(std::shared_ptr<const CompiledPlan> executable, Options options)
    : executable_(std::move(executable)),
      visit_(std::move(options.visit)),
      dynamic_dims_(executable_->graph().max_dynamic_dims()),
      streams_(executable_->devices(), options.trace != nullptr) {}

PlanRun::~PlanRun() {
  streams_.drain();
}

Result<std::unique_ptr<Plan>> PlanRun::create(std::shared_ptr<const CompiledPlan> executable,
                                              Options options) {
  Trace* const trace = options.trace;
  const auto observes = [](const Action& action) { return action.kind == ActionKind::kObserve; };
  if (!options.visit && std::ranges::any_of(executable->actions(), observes)) {
    return invalid("the plan has nodes to observe, and there is no observer");
  }
  std::unique_ptr<PlanRun> run(new PlanRun(std::move(executable), std::move(options)));
  SHUNT_TRY(run->allocate());
  if (trace != nullptr) {
    TracedActions traced = describe_actions(*run->executable_);
    run->trace_ = std::make_unique<PlanTrace>(*trace, std::move(traced.actions),
                                              std::move(traced.queues), run->instances_.size());
  }
  return run;
}

Status PlanRun::allocate() {
  SHUNT_ASSIGN(shared_, allocate_shared_blocks(*executable_));
  instances_.reserve(executable_->steps_in_flight());
  while (instances_.size() < executable_->steps_in_flight()) {
    SHUNT_ASSIGN(StepInstance instance, create_instance(*executable_, shared_, streams_));
    instances_.push_back(std::move(instance));
  }
  connect_instances(*executable_, instances_);
  return ok();
}

Status PlanRun::set_dynamic_dim(Dim dynamic_dim, std::int64_t value) {
  if (dynamic_dim.is_fixed() || dynamic_dim.dynamic_dim >= graph().dynamic_dims().size()) {
    return invalid("this is not a dynamic dimension of the graph");
  }
  const DynamicDim& known = graph().dynamic_dims()[dynamic_dim.dynamic_dim];
  if (value < 0 || value > known.max) {
    return invalid("dynamic dimension {} is {}; it may be from 0 to {}", known.name, value,
                   known.max);
  }
  dynamic_dims_[dynamic_dim.dynamic_dim] = value;
  return ok();
}

Status PlanRun::set_threads(int most) {
  if (most < 0) return invalid("{} threads: it may be 1 or more, or 0 for all", most);
  threads_ = most;
  return ok();
}

std::size_t PlanRun::number_of(std::uint64_t step) const {
  return step % instances_.size();
}

std::uint64_t PlanRun::oldest() const {
  return next_step_ - std::min<std::uint64_t>(next_step_, instances_.size());
}

/// The next step's own memory, with the inputs of the step before it in it.
StepInstance& PlanRun::make_ready() {
  StepInstance& instance = instances_[number_of(next_step_)];
  // Its last step may still be read from.
  if (instance.pending && !finish(instance)) lost_.add_finished(instance.step, instance.failed);
  if (ready_ || next_step_ == 0) return instance;
  ready_ = true;
  const StepInstance& before = instances_[number_of(next_step_ - 1)];
  if (&before == &instance) return instance;
  const std::vector<PlanBlock>& blocks = executable_->layout().blocks;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].inputs) continue;
    std::copy_n(before.own[i]->host_data(), blocks[i].bytes, instance.own[i]->host_data());
  }
  return instance;
}

Result<std::span<std::byte>> PlanRun::input(Value leaf) {
  if (leaf.id >= graph().size() || graph().node(leaf.id).role != Role::kInput) {
    return invalid("{} is not an input", graph().describe(leaf.id));
  }
  const StepInstance& instance = make_ready();
  return std::span<std::byte>(instance.host_at(executable_->layout().of_node[leaf.id]),
                              bytes_of(graph(), leaf.id));
}

Result<std::span<const std::byte>> PlanRun::output(Value node) const {
  const StepInstance& instance = instances_[last_waited_];
  if (!instance.failed) return Error(instance.failed.error());
  for (const CompiledPlan::Readable& readable : executable_->readable()) {
    if (readable.node != node.id) continue;
    return std::span<const std::byte>(instance.host_at(readable.at), bytes_of(graph(), node.id));
  }
  return invalid("{} is neither an output nor observed", graph().describe(node.id));
}

Result<std::uint64_t> PlanRun::start(const std::atomic<bool>* cancel) {
  StepInstance& instance = make_ready();
  ready_ = false;
  instance.dynamic_dims = dynamic_dims_;
  instance.cancel = cancel;
  instance.threads = threads_;
  instance.step = next_step_++;
  instance.pending = true;
  instance.failed = lost_.inherited();
  instance.stage = 0;
  instance.submitted = 0;
  if (!is_ready(instance)) submit_rest(instance.step - 1);
  if (has_stages_left(instance)) submit_stage(instance);
  submit_due();
  return instance.step;
}

/// The step before it, if that is not finished; else null.
const StepInstance* PlanRun::before(const StepInstance& instance) const {
  if (instance.step == 0) return nullptr;
  const StepInstance& before = instances_[number_of(instance.step - 1)];
  return before.pending && before.step + 1 == instance.step ? &before : nullptr;
}

/// Whether there is something of it to submit.
bool PlanRun::has_stages_left(const StepInstance& instance) const {
  return instance.pending && instance.failed && instance.stage < executable_->stages().size();
}

/// Whether enough of the step before it is submitted for its next stage.
bool PlanRun::is_ready(const StepInstance& instance) const {
  const StepInstance* const before = this->before(instance);
  if (!has_stages_left(instance) || before == nullptr || !has_stages_left(*before)) return true;
  return before->submitted >= executable_->stages()[instance.stage].submitted_before;
}

void PlanRun::submit_stage(StepInstance& instance) {
  const std::size_t number = number_of(instance.step);
  const StepInstance* const before = this->before(instance);
  StepSubmitter submitter({.executable = *executable_,
                           .visit = visit_,
                           .trace = trace_.get(),
                           .number = number,
                           .first = before == nullptr || !before->under_way,
                           .cancel = instance.cancel,
                           .threads = instance.threads},
                          instance);
  const Stage& stage = executable_->stages()[instance.stage++];
  instance.under_way = true;
  for (std::size_t i = stage.begin; i < stage.end; ++i) {
    if (trace_) trace_->submitting(number, i);
    Status status = submitter.submit(i);
    if (trace_) trace_->submitted(number, i);
    if (!status) {
      instance.failed = executable_->in_action(std::move(status.error()), i);
      lost_.add(instance.failed);
      lose_behind(instance);
      return;
    }
    ++instance.submitted;
  }
}

/// Submits all that is left of the steps up to this one.
void PlanRun::submit_rest(std::uint64_t last) {
  for (std::uint64_t step = oldest(); step <= last; ++step) {
    StepInstance& instance = instances_[number_of(step)];
    while (has_stages_left(instance)) submit_stage(instance);
  }
}

/// Submits the stages for which enough steps have started meanwhile. They block the host, while
/// other devices work on later steps.
void PlanRun::submit_due() {
  for (std::uint64_t step = oldest(); step < next_step_; ++step) {
    StepInstance& instance = instances_[number_of(step)];
    const std::uint64_t behind = next_step_ - 1 - step;
    while (has_stages_left(instance) && is_ready(instance) &&
           executable_->stages()[instance.stage].due <= behind) {
      submit_stage(instance);
    }
  }
}

/// Steps behind a failed one of which there is something left to submit are lost with it.
void PlanRun::lose_behind(const StepInstance& failed) {
  for (std::uint64_t step = failed.step + 1; step < next_step_; ++step) {
    StepInstance& behind = instances_[number_of(step)];
    if (has_stages_left(behind)) behind.failed = failed.failed;
  }
}

/// Waits until nothing is under way.
void PlanRun::drain() {
  streams_.drain();
  for (StepInstance& instance : instances_) instance.under_way = false;
}

/// Waits until nothing of a step is under way, and keeps its first error.
Status PlanRun::finish(StepInstance& instance) {
  submit_rest(instance.step);
  instance.pending = false;
  const bool was_lost = !instance.failed;
  // Late errors travel with the events, also into actions that were refused because of them: the
  // first action that failed is the one to name.
  for (std::size_t i = 0; i < instance.submitted; ++i) {
    Event* event = instance.actions[i].done.get();
    Status status = event != nullptr ? event->wait() : ok();
    if (!status) {
      instance.failed = executable_->in_action(std::move(status.error()), i);
      break;
    }
    if (trace_) record(instance, i);
  }
  instance.under_way = false;
  if (trace_) trace_->finish();
  if (!instance.failed) {
    if (!was_lost) lose_behind(instance);
    drain();  // other work may still run after the failure
  }
  return instance.failed;
}

void PlanRun::record(const StepInstance& instance, std::size_t action) {
  const BoundAction& bound = instance.actions[action];
  const bool copy = is_copy(executable_->actions()[action].kind);
  const Event* first = bound.done.get();
  if (copy && bound.gathered != nullptr && bound.gathered->slices.runs().size() > 1) {
    first = bound.gathered->links.front().get();
  } else if (bound.began && has_several_runs(*executable_, instance, action)) {
    first = bound.began.get();
  }
  const std::size_t bytes = copy ? copied_bytes(*executable_, instance, action) : 0;
  trace_->done(number_of(instance.step), action, instance.step, bytes, first, bound.done.get());
}

Status PlanRun::wait(std::uint64_t step) {
  const std::size_t number = number_of(step);
  StepInstance& instance = instances_[number];
  if (step >= next_step_ || instance.step != step) {
    return invalid("step {} is not in flight", step);
  }
  last_waited_ = number;
  const Status status = instance.pending ? finish(instance) : instance.failed;
  if (!status) lost_.report(next_step_);
  return status;
}

}  // namespace shunt
