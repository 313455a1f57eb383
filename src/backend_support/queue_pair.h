// A vendor's stream made of two, one that computes and one that copies.
#pragma once

#include <memory>

#include "backend_support/native_stream.h"

namespace shunt {

/// Does all work in the order of submission: a task waits on the device for the task before it in
/// the other queue. The host does not wait, and copies use a copy engine.
class QueuePair final : public NativeStream {
 public:
  /// Each queue must be able to wait for events of the other.
  static Result<std::unique_ptr<QueuePair>> create(std::unique_ptr<NativeStream> compute,
                                                   std::unique_ptr<NativeStream> transfer);
  Result<std::unique_ptr<NativeEvent>> create_event(bool timed) override;
  Status run(std::uint64_t task, Binding& binding, const RunArgs& args) override;
  Status write(std::uint64_t task, Address to, std::span<const std::byte> from) override;
  Status read(std::uint64_t task, std::span<std::byte> to, Address from) override;
  Status copy(std::uint64_t task, Address to, Address from, std::size_t bytes) override;
  Status write_2d(std::uint64_t task, Address to, const std::byte* from,
                  const CopyShape& shape) override;
  Status read_2d(std::uint64_t task, std::byte* to, Address from, const CopyShape& shape) override;
  Status copy_2d(std::uint64_t task, Address to, Address from, const CopyShape& shape) override;
  Status record(NativeEvent& event) override { return last_->record(event); }
  Result<bool> wait_for(NativeEvent& event) override { return last_->wait_for(event); }
  /// Of both, that of a lost device, else that of the earlier task.
  std::optional<NativeFailure> failure() override;
  Status recover() override;
  std::string nodes_of(const Binding& binding) const override {
    return compute_->nodes_of(binding);
  }

 private:
  QueuePair(std::unique_ptr<NativeStream> compute, std::unique_ptr<NativeStream> transfer,
            std::unique_ptr<NativeEvent> edge);
  /// The queue that takes the next task.
  Status turn_to(NativeStream& queue);

  std::unique_ptr<NativeStream> compute_;
  std::unique_ptr<NativeStream> transfer_;
  std::unique_ptr<NativeEvent> edge_;  // between work of one queue and work of the other
  NativeStream* last_;                 // the queue of the last task
};

}  // namespace shunt
