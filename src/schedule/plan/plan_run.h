// Running an executable: the steps in flight, and their results.
#pragma once

#include <memory>
#include <vector>

#include "schedule/plan/lost_steps.h"
#include "schedule/plan/submit.h"

namespace shunt {

class PlanRun final : public Plan {
 public:
  struct Options {
    Visit visit = {};        ///< needed if the executable has nodes to observe
    Trace* trace = nullptr;  ///< null: nothing is recorded
  };
  /// Allocates all that its steps need. Errors name device and bytes.
  static Result<std::unique_ptr<Plan>> create(std::shared_ptr<const CompiledPlan> executable,
                                              Options options);
  ~PlanRun() override;

  const Graph& graph() const override { return executable_->graph(); }
  const Placement& placement() const override { return executable_->placement(); }
  std::span<const Segment> segments() const override { return executable_->cut().segments; }
  std::span<const MemoryUse> memory() const override { return executable_->memory(); }
  Status set_dynamic_dim(Dim dynamic_dim, std::int64_t value) override;
  const DynamicDimValues& dynamic_dims() const override { return dynamic_dims_; }
  Status set_threads(int most) override;
  Result<std::span<std::byte>> input(Value leaf) override;
  Result<std::uint64_t> start(const std::atomic<bool>* cancel) override;
  Status wait(std::uint64_t step) override;
  Result<std::span<const std::byte>> output(Value node) const override;

 private:
  PlanRun(std::shared_ptr<const CompiledPlan> executable, Options options);

  Status allocate();
  std::size_t number_of(std::uint64_t step) const;  // of the instance that it has
  std::uint64_t oldest() const;                     // step that may be under way
  StepInstance& make_ready();
  const StepInstance* before(const StepInstance& instance) const;
  bool has_stages_left(const StepInstance& instance) const;
  bool is_ready(const StepInstance& instance) const;
  void submit_stage(StepInstance& instance);
  void submit_rest(std::uint64_t last);
  void submit_due();
  void lose_behind(const StepInstance& failed);
  void drain();
  Status finish(StepInstance& instance);
  void record(const StepInstance& instance, std::size_t action);

  // Members below use those above, and are destroyed before them.
  const std::shared_ptr<const CompiledPlan> executable_;
  const Visit visit_;
  DynamicDimValues dynamic_dims_;
  int threads_ = 0;      // RunArgs::threads
  BlockBuffers shared_;  // by block; null: each step has its own
  std::vector<StepInstance> instances_;
  RunStreams streams_;  // closed before the bindings and buffers of their work are destroyed
  std::unique_ptr<PlanTrace> trace_;  // null: no trace is recorded
  std::uint64_t next_step_ = 0;
  bool ready_ = false;           // the next step's inputs are there
  std::size_t last_waited_ = 0;  // instance
  LostSteps lost_;
};

}  // namespace shunt
