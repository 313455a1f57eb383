#include "support/world_native.h"

namespace shunt::test {

namespace {

class WorldNativeEvent final : public NativeEvent {
 public:
  WorldNativeEvent(TestWorld& world, bool timed) : world_(world), timed_(timed) {}
  Result<bool> wait(std::chrono::milliseconds) override {
    if (!work) return true;
    if (!world_.try_to_run_until(*work)) return false;
    world_.host_waited(work->time);
    return true;
  }
  std::optional<Time> time() const override {
    return timed_ && work ? std::optional(Time{work->time, 0}) : std::nullopt;
  }
  const TestWorld& world() const { return world_; }
  std::shared_ptr<WorldWork> work;

 private:
  TestWorld& world_;
  bool timed_;
};

}  // namespace

Result<std::unique_ptr<NativeEvent>> WorldNativeStream::create_event(bool timed) {
  return std::make_unique<WorldNativeEvent>(queue_.world(), timed && tells_times_);
}

Status WorldNativeStream::record(NativeEvent& event) {
  if (!waits_.empty()) submit(0, 0, [] { return ok(); });
  static_cast<WorldNativeEvent&>(event).work = last_;
  return ok();
}

Result<bool> WorldNativeStream::wait_for(NativeEvent& event) {
  const auto* known = dynamic_cast<WorldNativeEvent*>(&event);
  if (known == nullptr || &known->world() != &queue_.world()) return false;
  if (known->work) waits_.push_back(known->work);
  return true;
}

void WorldNativeStream::submit(std::uint64_t task, double seconds, Work work) {
  const auto run = [this, task, work = std::move(work)] {
    const Status status = work();
    if (status || failure_) return ok();
    failure_ = {status.error(), tells_task() ? task : 0, false};
    failure_->lost = lost();
    return ok();
  };
  last_ = queue_.submit({run, seconds}, std::exchange(waits_, {}));
}

std::optional<NativeFailure> WorldNativeStream::failure() {
  return failure_;
}

Status WorldNativeStream::recover() {
  if (failure_ && lost()) return Error(failure_->error);
  failure_.reset();
  return ok();
}

}  // namespace shunt::test
