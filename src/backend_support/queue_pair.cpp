#include "backend_support/queue_pair.h"

#include "shunt/message.h"

namespace shunt {

Result<std::unique_ptr<QueuePair>> QueuePair::create(std::unique_ptr<NativeStream> compute,
                                                     std::unique_ptr<NativeStream> transfer) {
  SHUNT_ASSIGN(auto edge, compute->create_event(false));
  return std::unique_ptr<QueuePair>(
      new QueuePair(std::move(compute), std::move(transfer), std::move(edge)));
}

QueuePair::QueuePair(std::unique_ptr<NativeStream> compute, std::unique_ptr<NativeStream> transfer,
                     std::unique_ptr<NativeEvent> edge)
    : compute_(std::move(compute)),
      transfer_(std::move(transfer)),
      edge_(std::move(edge)),
      last_(compute_.get()) {}

Status QueuePair::turn_to(NativeStream& queue) {
  if (&queue == last_) return ok();
  SHUNT_TRY(last_->record(*edge_));
  SHUNT_ASSIGN(const bool waits, queue.wait_for(*edge_));
  if (!waits) return fail(ErrorCode::kInternal, "two queues of a device can't wait for each other");
  last_ = &queue;
  return ok();
}

Result<std::unique_ptr<NativeEvent>> QueuePair::create_event(bool timed) {
  return compute_->create_event(timed);
}

Status QueuePair::run(std::uint64_t task, Binding& binding, const RunArgs& args) {
  SHUNT_TRY(turn_to(*compute_));
  return compute_->run(task, binding, args);
}

Status QueuePair::write(std::uint64_t task, Address to, std::span<const std::byte> from) {
  SHUNT_TRY(turn_to(*transfer_));
  return transfer_->write(task, to, from);
}

Status QueuePair::read(std::uint64_t task, std::span<std::byte> to, Address from) {
  SHUNT_TRY(turn_to(*transfer_));
  return transfer_->read(task, to, from);
}

Status QueuePair::copy(std::uint64_t task, Address to, Address from, std::size_t bytes) {
  SHUNT_TRY(turn_to(*transfer_));
  return transfer_->copy(task, to, from, bytes);
}

Status QueuePair::write_2d(std::uint64_t task, Address to, const std::byte* from,
                           const CopyShape& shape) {
  SHUNT_TRY(turn_to(*transfer_));
  return transfer_->write_2d(task, to, from, shape);
}

Status QueuePair::read_2d(std::uint64_t task, std::byte* to, Address from, const CopyShape& shape) {
  SHUNT_TRY(turn_to(*transfer_));
  return transfer_->read_2d(task, to, from, shape);
}

Status QueuePair::copy_2d(std::uint64_t task, Address to, Address from, const CopyShape& shape) {
  SHUNT_TRY(turn_to(*transfer_));
  return transfer_->copy_2d(task, to, from, shape);
}

std::optional<NativeFailure> QueuePair::failure() {
  auto computing = compute_->failure();
  auto copying = transfer_->failure();
  if (!computing || !copying) return computing ? computing : copying;
  if (computing->lost != copying->lost) return computing->lost ? computing : copying;
  return computing->task <= copying->task ? computing : copying;
}

Status QueuePair::recover() {
  SHUNT_TRY(compute_->recover());
  return transfer_->recover();
}

}  // namespace shunt
