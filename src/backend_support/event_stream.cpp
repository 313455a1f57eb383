#include "backend_support/event_stream.h"

#include "device/range.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// How long a wait lasts before it checks whether a device is lost.
constexpr std::chrono::milliseconds kSlice{20};
/// The number of such waits for work that depends on another, lost device. It may still end.
constexpr int kSlicesAfterLoss = 50;

/// Blocks until the event of a task is complete. Fails only if a lost device prevents that; a
/// device that does not end its work in time becomes lost. The error of a wait is noted as an error
/// of the work.
Status wait_until_complete(NativeEvent& event, const StreamClock& clock, StreamHistory& history,
                           std::uint64_t task) {
  DeviceHealth& health = history.health();
  const auto end = std::chrono::steady_clock::now() + health.timeout();
  for (int slices_after_loss = 0;;) {
    const Result<bool> complete = event.wait(kSlice);
    if (!complete) history.poll(task, complete.error());
    if (!complete || *complete) return ok();
    Status lost = clock.lost();
    history.poll();
    SHUNT_TRY(health.check());
    if (!lost && ++slices_after_loss == kSlicesAfterLoss) return lost;
    if (!lost || std::chrono::steady_clock::now() < end) continue;
    if (!clock.lose_busy()) health.lose_hung();
  }
}

}  // namespace

Status StreamEvent::wait() {
  seen_ = true;
  if (clock_.empty()) return ok();
  StreamHistory& own = *clock_.entries().back().history;
  const std::uint64_t task = clock_.entries().back().task;
  if (!recorded_) return clock_.status();
  if (own.is_confirmed(task)) return clock_.final_status();
  SHUNT_TRY(wait_until_complete(*end_, clock_, own, task));
  return clock_.final_status();
}

std::optional<WorkTimes> StreamEvent::times() const {
  if (!begin_ || !recorded_) return std::nullopt;
  const auto begin = begin_->time();
  const auto lasted = end_->seconds_since(*begin_);
  if (!begin || !lasted) return std::nullopt;
  return WorkTimes{begin->seconds, begin->seconds + *lasted, begin->error};
}

Result<std::unique_ptr<EventStream>> EventStream::create(std::unique_ptr<NativeStream> native,
                                                         std::shared_ptr<DeviceHealth> health) {
  SHUNT_TRY(health->check());
  SHUNT_ASSIGN(auto idle, native->create_event(false));
  return std::unique_ptr<EventStream>(
      new EventStream(std::move(native), std::move(idle), std::move(health)));
}

EventStream::EventStream(std::unique_ptr<NativeStream> native, std::unique_ptr<NativeEvent> idle,
                         std::shared_ptr<DeviceHealth> health)
    : native_(std::move(native)),
      idle_(std::move(idle)),
      history_(std::make_shared<StreamHistory>(*native_, std::move(health))) {
  native_->watch({.check = [this]() -> Status {
                    SHUNT_TRY(clock_.lost());
                    return history_->health().check();
                  },
                  .time_out = [this]() -> Error {
                    Status lost = clock_.lost();
                    if (!lost) return lost.error();
                    if (!clock_.lose_busy()) history_->health().lose_hung();
                    lost = clock_.lost();
                    return lost ? history_->health().check().error() : lost.error();
                  }});
}

EventStream::~EventStream() {
  if (const Status done = drain(); done) {
    history_->settle();
  } else if (!history_->health().is_lost() && native_->is_busy()) {
    // Work that waits for another, lost device may never end: then no call may wait for it.
    history_->health().lose_hung(done.error());
  }
  history_->close();
}

Result<std::unique_ptr<Event>> EventStream::create_event() {
  SHUNT_ASSIGN(auto end, native_->create_event(false));
  return std::make_unique<StreamEvent>(history_->health(), nullptr, std::move(end));
}

Result<std::unique_ptr<Event>> EventStream::create_timed_event() {
  SHUNT_ASSIGN(auto begin, native_->create_event(true));
  SHUNT_ASSIGN(auto end, native_->create_event(true));
  return std::make_unique<StreamEvent>(history_->health(), std::move(begin), std::move(end));
}

Status EventStream::run(Binding& binding, const RunArgs& args, std::span<Event* const> waits,
                        Event* signal) {
  return submit(waits, signal, [&](std::uint64_t task) -> Status {
    if (args.cancel != nullptr && args.cancel->load()) {
      return fail(ErrorCode::kCancelled, "cancelled");
    }
    const Status status = native_->run(task, binding, args);
    if (!status) return Error(status.error()).with_node(native_->nodes_of(binding));
    history_->submitted(task, binding);
    return ok();
  });
}

Status EventStream::write(Address to, std::span<const std::byte> from,
                          std::span<Event* const> waits, Event* signal) {
  return submit(waits, signal, [&](auto task) { return native_->write(task, to, from); });
}

Status EventStream::read(std::span<std::byte> to, Address from, std::span<Event* const> waits,
                         Event* signal) {
  return submit(waits, signal, [&](auto task) { return native_->read(task, to, from); });
}

Status EventStream::copy(Address to, Address from, std::size_t bytes, std::span<Event* const> waits,
                         Event* signal) {
  return submit(waits, signal, [&](auto task) { return native_->copy(task, to, from, bytes); });
}

Status EventStream::write_2d(Address to, const std::byte* from, const CopyShape& shape,
                             std::span<Event* const> waits, Event* signal) {
  return submit(waits, signal, [&](auto task) -> Status {
    SHUNT_TRY(check_rows(*to.buffer, to.offset, shape, shape.to_pitch));
    return native_->write_2d(task, to, from, shape);
  });
}

Status EventStream::read_2d(std::byte* to, Address from, const CopyShape& shape,
                            std::span<Event* const> waits, Event* signal) {
  return submit(waits, signal, [&](auto task) -> Status {
    SHUNT_TRY(check_rows(*from.buffer, from.offset, shape, shape.from_pitch));
    return native_->read_2d(task, to, from, shape);
  });
}

Status EventStream::copy_2d(Address to, Address from, const CopyShape& shape,
                            std::span<Event* const> waits, Event* signal) {
  return submit(waits, signal, [&](auto task) -> Status {
    SHUNT_TRY(check_rows(*to.buffer, to.offset, shape, shape.to_pitch));
    SHUNT_TRY(check_rows(*from.buffer, from.offset, shape, shape.from_pitch));
    return native_->copy_2d(task, to, from, shape);
  });
}

template <class Work>
Status EventStream::submit(std::span<Event* const> waits, Event* signal, Work work) {
  const std::uint64_t task = history_->begin();
  auto* event = dynamic_cast<StreamEvent*>(signal);
  if (event != nullptr && &event->device_ != &history_->health()) event = nullptr;
  Status status = history_->status_at(task);
  if (status && event == nullptr && signal != nullptr) {
    status = invalid("task {} on {} signals an event of another device", task,
                     history_->health().device());
  }
  if (status && event != nullptr) status = check_signal(*event, task);
  if (status) status = try_submit(task, waits, event, std::move(work));
  if (!status) history_->fail(task, status.error());
  if (event != nullptr) {
    event->clock_ = clock_;
    event->clock_.add({history_, task});
    event->recorded_ = status.has_value();
    event->seen_ = !event->recorded_;  // there is nothing to wait for
  }
  return status;
}

template <class Work>
Status EventStream::try_submit(std::uint64_t task, std::span<Event* const> waits,
                               StreamEvent* signal, Work work) {
  SHUNT_TRY(wait_for(waits));
  SHUNT_TRY(clock_.status());
  if (signal != nullptr && signal->begin_) SHUNT_TRY(native_->record(*signal->begin_));
  Status status = work(task);
  if (status && signal != nullptr) status = native_->record(*signal->end_);
  if (status || status.error().code() == ErrorCode::kCancelled) return status;
  return Error(status.error()).with_device(history_->health().device());
}

Status EventStream::check_signal(const StreamEvent& event, std::uint64_t task) const {
  if (event.seen_) return ok();
  const StreamClock::Entry& last = event.clock_.entries().back();
  if (last.history->is_confirmed(last.task)) return ok();
  return invalid("task {} on {} signals the event of task {}, which nothing has waited for", task,
                 history_->health().device(), last.task);
}

Status EventStream::wait_for(std::span<Event* const> waits) {
  for (Event* event : waits) {
    auto* known = dynamic_cast<StreamEvent*>(event);
    SHUNT_TRY(known != nullptr ? wait_for(*known) : event->wait());
  }
  return ok();
}

Status EventStream::wait_for(StreamEvent& event) {
  event.seen_ = true;
  SHUNT_TRY(event.clock_.status());
  if (event.clock_.empty()) return ok();
  const StreamClock::Entry& last = event.clock_.entries().back();
  if (last.history->is_confirmed(last.task)) return event.clock_.final_status();
  if (last.history == history_) return ok();
  SHUNT_ASSIGN(const bool waits, native_->wait_for(*event.end_));
  if (!waits) return event.wait();
  for (const StreamClock::Entry& entry : event.clock_.entries()) {
    if (entry.history != history_)
      clock_.add(entry);  // its own is added for each event, as the last
  }
  return ok();
}

Status EventStream::drain() {
  DeviceHealth& health = history_->health();
  SHUNT_TRY(health.check());
  const std::uint64_t last = history_->begin();
  if (const Status recorded = native_->record(*idle_); !recorded) {
    // Nothing reports when the work ends, and memory may not be freed under it.
    if (native_->is_busy()) {
      health.lose_hung(recorded.error());
    } else {
      health.lose(recorded.error());
    }
    return health.check();
  }
  SHUNT_TRY(wait_until_complete(*idle_, clock_, *history_, last));
  history_->poll();
  return health.check();
}

Status EventStream::synchronize() {
  SHUNT_TRY(drain());
  if (const Status recovered = native_->recover(); !recovered) {
    history_->health().lose(recovered.error());
    return history_->health().check();
  }
  history_->settle();
  clock_.clear();
  return ok();
}

}  // namespace shunt
