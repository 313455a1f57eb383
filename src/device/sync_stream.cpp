#include "device/sync_stream.h"

namespace shunt {

namespace {

Status wait_for(std::span<Event* const> events) {
  for (Event* event : events) SHUNT_TRY(event->wait());
  return ok();
}

Status finish(Status status, Event* signal) {
  if (signal != nullptr) static_cast<SyncEvent*>(signal)->signal(status);
  return status;
}

}  // namespace

Status SyncStream::run(Binding& binding, const RunArgs& args, std::span<Event* const> waits,
                       Event* signal) {
  Status status = wait_for(waits);
  if (status) status = run_now(binding, args);
  return finish(std::move(status), signal);
}

Status SyncStream::write(Address to, std::span<const std::byte> from, std::span<Event* const> waits,
                         Event* signal) {
  Status status = wait_for(waits);
  if (status) status = to.buffer->write(to.offset, from);
  return finish(std::move(status), signal);
}

Status SyncStream::read(std::span<std::byte> to, Address from, std::span<Event* const> waits,
                        Event* signal) {
  Status status = wait_for(waits);
  if (status) status = from.buffer->read(from.offset, to);
  return finish(std::move(status), signal);
}

}  // namespace shunt
