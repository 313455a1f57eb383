#include "cuda/driver/worker.h"

#include <chrono>
#include <thread>

#include "cuda/call.h"
#include "cuda/driver/lifetime.h"
#include "cuda/driver/perform.h"
#include "cuda/races/work_order.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

/// Splitmix64.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// False at the end of the stream.
bool take(Stream& stream, Stream::Item& item) {
  std::unique_lock lock(stream.mutex);
  stream.changed.wait(lock, [&] { return !stream.queue.empty() || stream.closing; });
  if (stream.queue.empty()) return false;
  item = std::move(stream.queue.front());
  stream.queue.pop_front();
  return true;
}

void finish(Stream& stream, std::uint64_t ticket) {
  const std::lock_guard lock(stream.mutex);
  stream.completed = ticket;
  stream.changed.notify_all();
}

std::uint64_t last_number_of(Stream& stream) {
  const std::lock_guard lock(stream.mutex);
  return stream.last_number;
}

/// Under Stream::mutex.
void make_urgent(Stream& stream, std::uint64_t ticket) {
  if (ticket <= stream.urgent) return;
  stream.urgent = ticket;
  stream.changed.notify_all();
}

std::uint64_t random_of(std::uint64_t number) {
  return mix(static_cast<std::uint64_t>(setting(Setting::kOrder)) * 0x10001U + number);
}

/// With a seed, every other piece of work starts up to 4 ms late, so that streams overtake each
/// other. Work that something waits for starts at once.
void hold_back(Stream& stream, const Stream::Item& item) {
  constexpr std::uint64_t kMostMicroseconds = 4000;
  if (setting(Setting::kOrder) == 0) return;
  const std::uint64_t random = random_of(item.number);
  if ((random & 1U) == 0) return;
  std::unique_lock lock(stream.mutex);
  stream.changed.wait_for(lock, std::chrono::microseconds((random >> 8) % kMostMicroseconds),
                          [&] { return stream.urgent >= item.ticket || stream.closing; });
}

void work_until_closed(const std::shared_ptr<Stream>& stream) {
  Stream::Item item;
  while (take(*stream, item)) {
    for (const Stream::Dependency& dependency : item.after) {
      wait_for(*dependency.stream, dependency.ticket);
    }
    const std::shared_ptr<Context> context = stream->context.lock();
    if (context != nullptr) {
      hold_back(*stream, item);
      perform_in_turn(*context, item.work, item.number);
      delay(~item.number);  // an event may complete before its stream is idle
    }
    item.work = EmptyWork{};  // its objects are released before others see its end
    item.after.clear();
    finish(*stream, item.ticket);
  }
  // The legacy stream waited for a closed stream as long as it had work.
  if (const std::shared_ptr<Context> context = stream->context.lock()) {
    const std::lock_guard lock(context->mutex);
    const std::uint64_t last = last_number_of(*stream);
    if (std::erase(context->streams, stream) != 0 && last != 0) {
      (stream->non_blocking() ? context->ended_non_blocking : context->ended_blocking)
          .push_back(last);
    }
  }
  const std::lock_guard lock(stream->mutex);
  stream->started = false;
  stream->changed.notify_all();
}

}  // namespace

void delay(std::uint64_t number) {
  if (setting(Setting::kOrder) == 0) return;
  const std::uint64_t random = random_of(number);
  if ((random & 3U) == 0) return;
  if ((random & 3U) == 1) {
    std::this_thread::yield();
    return;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(random >> 8 & 63U));
}

void start_worker(Stream& stream) {
  const std::lock_guard lock(stream.mutex);
  if (stream.started) return;
  std::thread(work_until_closed, stream.shared_from_this()).detach();
  stream.started = true;
}

void close_stream(Stream& stream) {
  const std::lock_guard lock(stream.mutex);
  stream.closing = true;
  stream.changed.notify_all();
}

void close_streams(Context& context) {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(context.mutex);
    streams = context.streams;
    streams.push_back(context.legacy);
  }
  for (const auto& stream : streams) close_stream(*stream);
  for (const auto& stream : streams) {
    std::unique_lock lock(stream->mutex);
    stream->changed.wait(lock, [&] { return !stream->started; });
    if (stream->last_number != 0) driver().space->works().host_waited(stream->last_number);
  }
  const std::lock_guard lock(context.mutex);
  context.streams.clear();
  context.of_threads.clear();
}

void hurry(const Event& event) {
  std::shared_ptr<Stream> stream;
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(event.mutex);
    stream = event.stream.lock();
    ticket = event.ticket;
  }
  if (stream == nullptr) return;
  const std::lock_guard lock(stream->mutex);
  make_urgent(*stream, ticket);
}

void wait_for(Stream& stream, std::uint64_t ticket) {
  std::unique_lock lock(stream.mutex);
  make_urgent(stream, ticket);
  stream.changed.wait(lock, [&] { return stream.completed >= ticket; });
}

}  // namespace cuda_twin
