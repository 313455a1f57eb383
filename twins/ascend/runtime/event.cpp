#include "ascend/runtime/event.h"

#include <chrono>

#include "ascend/profiles.h"
#include "ascend/runtime/thread.h"

namespace ascend_twin {
namespace {

/// A body that blocks looks this often whether its stream drops its work.
constexpr auto kLook = std::chrono::milliseconds(2);

std::shared_ptr<Task> task_of(Task::Kind kind, const char* name,
                              const std::shared_ptr<Event>& event) {
  auto task = std::make_shared<Task>();
  task->kind = kind;
  task->name = name;
  task->event = event;
  return task;
}

/// Only the new mode can be captured.
Status check_mode(const Event& event, Stream& stream) {
  const std::shared_ptr<Recorder> recorder = stream.recorder();
  if (recorder == nullptr || event.mode == Event::Mode::kEx) return ACL_SUCCESS;
  recorder->invalidate();
  return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "only events of aclrtCreateEventExWithFlag can be captured");
}

/// In the turn of a wait.
Status wait_in_turn(Event& event, std::uint64_t record, const Run& run) {
  hurry_record(event, record);
  std::unique_lock lock(event.mutex);
  while (!event.changed.wait_for(lock, kLook, [&] { return event.is_reached(record); })) {
    const bool is_submitted = event.recorded >= record;
    lock.unlock();
    // The record of an event of "old mode" may never come: the end of its stream does not wait.
    if (run.stream->is_dropping() || (!is_submitted && run.stream->is_closing()))
      return ACL_SUCCESS;
    hurry_record(event, record);
    lock.lock();
  }
  return ACL_SUCCESS;
}

}  // namespace

Status take_event_resource(Event& event) {
  const std::lock_guard lock(event.mutex);
  if (event.resource_of != nullptr) return ACL_SUCCESS;
  if (fault_is_due(Setting::kFailResource))
    return refuse(ACL_ERROR_RT_NO_EVENT_RESOURCE, "no event, as the fault asks");
  const std::shared_ptr<Context> context = event.context.lock();
  if (context == nullptr || profile() == nullptr)
    return refuse(ACL_ERROR_RT_CONTEXT_NULL, "the event's context is gone");
  if (context->device->events.fetch_add(1) >= profile()->events) {
    --context->device->events;
    return refuse(ACL_ERROR_RT_NO_EVENT_RESOURCE,
                  "all " + std::to_string(profile()->events) + " events of the device are in use");
  }
  event.resource_of = context->device;
  return ACL_SUCCESS;
}

void give_event_resource(Event& event) {
  const std::lock_guard lock(event.mutex);
  if (event.resource_of != nullptr) --event.resource_of->events;
  event.resource_of = nullptr;
}

Status record_event(const std::shared_ptr<Event>& event, Stream& stream) {
  ASCEND_TWIN_TRY(check_mode(*event, stream));
  ASCEND_TWIN_TRY(take_event_resource(*event));
  auto task = task_of(Task::Kind::kRecord, "aclrtRecordEvent", event);
  if (stream.recorder() != nullptr) {
    // A model keeps records of external events alone: each replay is one.
    task->body = [event](const Run& run) -> Status {
      std::uint64_t record = 0;
      {
        const std::lock_guard lock(event->mutex);
        record = ++event->recorded;
      }
      event->reach(record, run.tick);
      return ACL_SUCCESS;
    };
    return stream.submit(task);
  }
  std::uint64_t record = 0;
  {
    const std::lock_guard lock(event->mutex);
    event->recorder.reset();
    record = ++event->recorded;
    event->pending[record].stream = stream.weak_from_this();
  }
  task->record = record;
  task->body = [event, record](const Run& run) -> Status {
    event->reach(record, run.tick);
    return ACL_SUCCESS;
  };
  std::uint64_t ticket = 0;
  const Status code = stream.submit(task, &ticket);
  bool urgent = false;
  {
    const std::lock_guard lock(event->mutex);
    const auto found = event->pending.find(record);
    if (found == event->pending.end()) return code;  // reached already
    if (code != ACL_SUCCESS) {
      event->pending.erase(found);
      event->changed.notify_all();
      return code;
    }
    found->second.ticket = ticket;
    urgent = found->second.urgent;
  }
  if (urgent) stream.hurry(ticket);
  return ACL_SUCCESS;
}

Status wait_in_stream(const std::shared_ptr<Event>& event, Stream& stream) {
  ASCEND_TWIN_TRY(check_mode(*event, stream));
  auto task = task_of(Task::Kind::kWait, "aclrtStreamWaitEvent", event);
  bool is_captured = false;
  {
    const std::lock_guard lock(event->mutex);
    is_captured = event->recorder.lock() != nullptr;
    task->record = event->recorded;
    if (event->recorded == 0 && event->mode == Event::Mode::kOld) task->record = 1;
    if (task->record == 0 && !is_captured) return ACL_SUCCESS;
  }
  if (is_captured || stream.recorder() != nullptr) {
    // A model keeps waits for external events alone: each replay waits for the last record then.
    task->body = [event](const Run& run) -> Status {
      std::uint64_t record = 0;
      {
        const std::lock_guard lock(event->mutex);
        record = event->recorded;
      }
      return wait_in_turn(*event, record, run);
    };
    return stream.submit(task);
  }
  {
    const std::lock_guard lock(event->mutex);
    ++event->waits;
  }
  // Over when the task is gone: done, dropped or refused.
  const std::shared_ptr<void> over(nullptr, [event](void*) {
    const std::lock_guard lock(event->mutex);
    --event->waits;
  });
  task->body = [event, record = task->record, over](const Run& run) -> Status {
    return wait_in_turn(*event, record, run);
  };
  return stream.submit(task);
}

Status reset_in_stream(const std::shared_ptr<Event>& event, Stream& stream) {
  ASCEND_TWIN_TRY(check_mode(*event, stream));
  auto task = std::make_shared<Task>();
  task->kind = Task::Kind::kHost;
  task->name = "aclrtResetEvent";
  task->body = [event](const Run&) -> Status {
    const std::lock_guard lock(event->mutex);
    event->is_reset = true;
    return ACL_SUCCESS;
  };
  return stream.submit(task);
}

void hurry_record(Event& event, std::uint64_t record) {
  std::shared_ptr<Stream> stream;
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(event.mutex);
    const auto found = event.pending.find(record);
    if (found == event.pending.end()) return;
    found->second.urgent = true;
    stream = found->second.stream.lock();
    ticket = found->second.ticket;
  }
  if (stream != nullptr && ticket != 0) stream->hurry(ticket);
}

bool wait_for_record(Event& event, std::uint64_t record, std::int64_t milliseconds) {
  hurry_record(event, record);
  std::unique_lock lock(event.mutex);
  const auto done = [&] { return event.is_reached(record); };
  if (milliseconds >= 0)
    return event.changed.wait_for(lock, std::chrono::milliseconds(milliseconds), done);
  event.changed.wait(lock, done);
  return true;
}

Status any_event_of(aclrtEvent handle, std::shared_ptr<Event>* event) {
  if (handle == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the event is null");
  *event = library().events.find(handle);
  if (*event == nullptr)
    return refuse(ACL_ERROR_RT_INVALID_HANDLE, "the event is destroyed or none");
  return ACL_SUCCESS;
}

Status event_of(aclrtEvent handle, std::shared_ptr<Event>* event) {
  ASCEND_TWIN_TRY(any_event_of(handle, event));
  if ((*event)->context.lock() != this_thread().context.lock())
    return refuse(ACL_ERROR_RT_STREAM_CONTEXT, "the event belongs to another context");
  return ACL_SUCCESS;
}

Status check_event_not_captured(Event& event) {
  std::shared_ptr<Recorder> recorder;
  {
    const std::lock_guard lock(event.mutex);
    recorder = event.recorder.lock();
  }
  if (recorder == nullptr) return ACL_SUCCESS;
  recorder->invalidate();
  return refuse(ACL_ERROR_RT_EVENT_CAPTURED, "the event was recorded in a capture");
}

}  // namespace ascend_twin
