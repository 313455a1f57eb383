#include "device/sync_stream.h"

#include "base/clock.h"

namespace shunt {

namespace {

Status wait_for(std::span<Event* const> events) {
  for (Event* event : events) SHUNT_TRY(event->wait());
  return ok();
}

}  // namespace

template <class Work>
Status SyncStream::work_now(std::span<Event* const> waits, Event* signal, Work work) {
  Status status = failed_;
  if (status) status = wait_for(waits);
  auto* event = static_cast<SyncEvent*>(signal);
  const bool timed = event != nullptr && event->timed();
  const double begin = timed ? steady_seconds() : 0;
  if (status) status = work();
  if (!status) failed_ = status;
  if (timed) {
    event->signal(status, WorkTimes{begin, steady_seconds()});
  } else if (event != nullptr) {
    event->signal(status);
  }
  return status;
}

Status SyncStream::run(Binding& binding, const RunArgs& args, std::span<Event* const> waits,
                       Event* signal) {
  return work_now(waits, signal, [&] { return run_now(binding, args); });
}

Status SyncStream::write(Address to, std::span<const std::byte> from, std::span<Event* const> waits,
                         Event* signal) {
  return work_now(waits, signal, [&] { return to.buffer->write(to.offset, from); });
}

Status SyncStream::read(std::span<std::byte> to, Address from, std::span<Event* const> waits,
                        Event* signal) {
  return work_now(waits, signal, [&] { return from.buffer->read(from.offset, to); });
}

Status SyncStream::write_2d(Address to, const std::byte* from, const CopyShape& shape,
                            std::span<Event* const> waits, Event* signal) {
  return work_now(waits, signal, [&] { return to.buffer->write_2d(to.offset, from, shape); });
}

Status SyncStream::read_2d(std::byte* to, Address from, const CopyShape& shape,
                           std::span<Event* const> waits, Event* signal) {
  return work_now(waits, signal, [&] { return from.buffer->read_2d(to, from.offset, shape); });
}

}  // namespace shunt
