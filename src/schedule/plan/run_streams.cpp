#include "schedule/plan/run_streams.h"

#include "schedule/plan/plan_errors.h"

namespace shunt {

Result<Stream*> RunStreams::of(int device, Queue queue) {
  std::unique_ptr<Stream>& stream = at(device, queue);
  if (!stream) {
    Device& opening = device_at(devices_, device);
    auto opened =
        queue == Queue::kTransfer ? opening.open_transfer_stream() : opening.open_stream();
    if (!opened) {
      return in_device(std::move(opened.error()).with_context("opening a stream"), devices_,
                       device);
    }
    stream = std::move(*opened);
  }
  return stream.get();
}

Result<std::unique_ptr<Event>> RunStreams::create_event(int device, Queue queue) {
  Stream& stream = *at(device, queue);
  auto event = timed_ ? stream.create_timed_event() : stream.create_event();
  if (!event) {
    return in_device(std::move(event.error()).with_context("an event"), devices_, device);
  }
  return event;
}

void RunStreams::drain() {
  for (const auto& queues : streams_) {
    for (const auto& stream : queues) {
      if (stream) (void)stream->synchronize();
    }
  }
}

}  // namespace shunt
