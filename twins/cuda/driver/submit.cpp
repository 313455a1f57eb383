// Work on its way to a stream's thread: its place among all work of the context.
#include "cuda/call.h"
#include "cuda/driver/worker.h"
#include "cuda/graphs/capture.h"
#include "cuda/graphs/run.h"
#include "cuda/races/work_order.h"

namespace cuda_twin {
namespace {

/// Work that must end before a new piece of work.
struct Before {
  std::vector<std::uint64_t> numbers;
  std::vector<Stream::Dependency> streams;
};

/// Under Context::mutex, with no stream locked.
void add_stream(const std::shared_ptr<Stream>& stream, Before& before) {
  const std::lock_guard lock(stream->mutex);
  if (stream->submitted == 0) return;
  before.numbers.push_back(stream->last_number);
  if (stream->completed < stream->submitted) before.streams.push_back({stream, stream->submitted});
}

/// The legacy stream waits for all streams but non-blocking ones, and these for it.
void add_default_stream_rules(Context& context, const Stream& stream, Before& before) {
  if (stream.non_blocking()) return;
  if (!stream.is_legacy) {
    add_stream(context.legacy, before);
    return;
  }
  for (const auto& other : context.streams) {
    if (!other->non_blocking()) add_stream(other, before);
  }
  // Their threads have ended, so all of their work has, too. This work covers them from now on.
  before.numbers.insert(before.numbers.end(), context.ended_blocking.begin(),
                        context.ended_blocking.end());
  context.ended_blocking.clear();
}

void add_event(const Work& work, Before& before) {
  const auto* const wait = std::get_if<WaitWork>(&work);
  if (wait == nullptr || wait->event == nullptr) return;
  const std::lock_guard lock(wait->event->mutex);
  if (wait->record == wait->event->recorded && wait->event->number != 0) {
    before.numbers.push_back(wait->event->number);
  }
}

/// A wait for a word is ordered after the last write of it that was submitted before.
void add_value(const Work& work, Before& before) {
  const auto* const wait = std::get_if<WaitValueWork>(&work);
  if (wait == nullptr) return;
  Driver& state = driver();
  const std::lock_guard lock(state.values_mutex);
  const auto write = state.value_writes.find(wait->at);
  if (write != state.value_writes.end()) before.numbers.push_back(write->second);
}

void note_value(const Work& work, std::uint64_t number) {
  const auto* const write = std::get_if<WriteValueWork>(&work);
  if (write == nullptr) return;
  Driver& state = driver();
  const std::lock_guard lock(state.values_mutex);
  state.value_writes[write->to] = number;
}

/// A record has its number and its place from now on.
void number_record(Work& work, Stream& stream, const Submitted& submitted) {
  auto* const record = std::get_if<RecordWork>(&work);
  if (record == nullptr || record->event == nullptr) return;
  const std::lock_guard lock(record->event->mutex);
  record->record = ++record->event->recorded;
  record->event->pending.insert(record->record);
  record->event->number = submitted.number;
  record->event->stream = stream.weak_from_this();
  record->event->ticket = submitted.ticket;
}

}  // namespace

Submitted enqueue(Context& context, Stream& stream, Work work) {
  const std::lock_guard order(context.mutex);
  start_worker(stream);
  Before before;
  add_default_stream_rules(context, stream, before);
  add_event(work, before);
  add_value(work, before);
  const std::lock_guard lock(stream.mutex);
  if (stream.last_number != 0) before.numbers.insert(before.numbers.begin(), stream.last_number);
  Submitted submitted;
  submitted.number = driver().space->works().after(before.numbers, name_of_work(work));
  submitted.ticket = ++stream.submitted;
  number_record(work, stream, submitted);
  note_value(work, submitted.number);
  stream.last_number = submitted.number;
  if (const auto* const graph = std::get_if<GraphWork>(&work); graph && graph->launch) {
    stream.last_number = order_launch(*graph->launch, submitted.number);
  }
  stream.queue.push_back(
      {std::move(work), submitted.ticket, submitted.number, std::move(before.streams)});
  stream.changed.notify_all();
  return submitted;
}

CUresult submit(Stream& stream, Work work) {
  const bool is_event =
      std::holds_alternative<RecordWork>(work) || std::holds_alternative<WaitWork>(work);
  if (!is_event) {
    const Captured captured = capture_work(stream, work);
    if (captured.taken) return captured.result;
  }
  const std::shared_ptr<Context> context = stream.context.lock();
  if (context == nullptr || context->destroyed) {
    return refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the stream's context was destroyed");
  }
  enqueue(*context, stream, std::move(work));
  return CUDA_SUCCESS;
}

CUresult submit_and_wait(Context& context, Stream& stream, Work work) {
  const Submitted submitted = enqueue(context, stream, std::move(work));
  wait_for(stream, submitted.ticket);
  driver().space->works().host_waited(submitted.number);
  return surface(context);
}

}  // namespace cuda_twin
