// A vendor's streams in a world: they go on after a task that failed, and completion of an event
// says nothing about errors. An EventStream turns it into a Stream of Shunt.
#pragma once

#include "support/native_queue.h"
#include "support/test_world.h"

namespace shunt::test {

class WorldNativeStream : public NativeQueue {
 public:
  explicit WorldNativeStream(TestWorld& world, bool tells_times = true)
      : queue_(world), tells_times_(tells_times) {}
  Result<std::unique_ptr<NativeEvent>> create_event(bool timed) override;
  Status record(NativeEvent& event) override;
  Result<bool> wait_for(NativeEvent& event) override;
  std::optional<NativeFailure> failure() override;
  Status recover() override;
  void submit(std::uint64_t task, double seconds, Work work) override;

 protected:
  /// Whether the failure is that of a lost device.
  virtual bool lost() const { return is_loss(failure_->error); }
  /// Whether it knows which task failed.
  virtual bool tells_task() const { return true; }
  WorldStream& queue() { return queue_; }

 private:
  WorldStream queue_;
  bool tells_times_;
  std::vector<std::shared_ptr<WorldWork>> waits_;  // of the next task
  std::shared_ptr<WorldWork> last_;                // task that was submitted
  std::optional<NativeFailure> failure_;
};

}  // namespace shunt::test
