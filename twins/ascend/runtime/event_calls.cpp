#include <utility>

#include "ascend/include/acl/acl_runtime.h"
#include "ascend/runtime/devices.h"
#include "ascend/runtime/event.h"
#include "ascend/runtime/thread.h"

using namespace ascend_twin;

namespace {

constexpr std::uint32_t kEventFlags =
    ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE | ACL_EVENT_EXTERNAL;
constexpr Status kEventNotComplete = 507006;

Status make_event(aclrtEvent* event, Event::Mode mode, std::uint32_t flags) {
  if (event == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the event's pointer is null");
  if (mode != Event::Mode::kPlain && (flags == 0 || (flags & ~kEventFlags) != 0))
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "event flags " + std::to_string(flags));
  std::shared_ptr<Context> context;
  ASCEND_TWIN_TRY(current_context(&context));
  auto made = std::make_shared<Event>();
  made->mode = mode;
  made->flags = flags;
  made->context = context;
  if (mode == Event::Mode::kOld) ASCEND_TWIN_TRY(take_event_resource(*made));
  *event = library().events.add(std::move(made));
  return ACL_SUCCESS;
}

/// Whether a stream can wait for it.
bool is_for_waits(const Event& event) {
  return event.mode == Event::Mode::kPlain ||
         (event.flags & (ACL_EVENT_SYNC | ACL_EVENT_EXTERNAL)) != 0;
}

Status synchronize_event(aclrtEvent handle, std::int64_t milliseconds) {
  std::shared_ptr<Event> event;
  ASCEND_TWIN_TRY(event_of(handle, &event));
  ASCEND_TWIN_TRY(check_can_wait());
  ASCEND_TWIN_TRY(check_event_not_captured(*event));
  std::uint64_t record = 0;
  {
    const std::lock_guard lock(event->mutex);
    record = event->recorded;
  }
  if (record == 0 || wait_for_record(*event, record, milliseconds)) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
                "not reached in " + std::to_string(milliseconds) + " ms");
}

/// Whether the last record is reached; an event without one is as its mode has it.
Status query(aclrtEvent handle, bool* is_complete) {
  std::shared_ptr<Event> event;
  ASCEND_TWIN_TRY(event_of(handle, &event));
  ASCEND_TWIN_TRY(check_event_not_captured(*event));
  std::uint64_t record = 0;
  {
    const std::lock_guard lock(event->mutex);
    record = event->recorded;
    *is_complete = record == 0 ? event->mode == Event::Mode::kEx
                               : event->is_reached(record) && !event->is_reset;
  }
  hurry_record(*event, record);
  return ACL_SUCCESS;
}

Status need_old_mode(aclrtEvent handle, std::shared_ptr<Event>* event) {
  ASCEND_TWIN_TRY(event_of(handle, event));
  if ((*event)->mode == Event::Mode::kEx) {
    return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "not for events of aclrtCreateEventExWithFlag");
  }
  return ACL_SUCCESS;
}

/// The tick of the last record.
Status timestamp(aclrtEvent handle, std::uint64_t* microseconds) {
  std::shared_ptr<Event> event;
  ASCEND_TWIN_TRY(event_of(handle, &event));
  ASCEND_TWIN_TRY(check_event_not_captured(*event));
  if (event->mode != Event::Mode::kPlain && (event->flags & ACL_EVENT_TIME_LINE) == 0)
    return refuse(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "the event was made without TIME_LINE");
  const std::lock_guard lock(event->mutex);
  if (event->recorded == 0)
    return refuse(ACL_ERROR_RT_INTERNAL_ERROR, "the event was never recorded");
  if (!event->is_reached(event->recorded))
    return refuse(kEventNotComplete, "the event's record is not reached");
  *microseconds = event->microseconds;
  return ACL_SUCCESS;
}

}  // namespace

aclError aclrtCreateEvent(aclrtEvent* event) {
  return call("aclrtCreateEvent", Need::kContext,
              [&] { return make_event(event, Event::Mode::kPlain, 0); });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flags) {
  return call("aclrtCreateEventWithFlag", Need::kContext,
              [&] { return make_event(event, Event::Mode::kOld, flags); });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flags) {
  return call("aclrtCreateEventExWithFlag", Need::kContext,
              [&] { return make_event(event, Event::Mode::kEx, flags); });
}

aclError aclrtDestroyEvent(aclrtEvent handle) {
  return call("aclrtDestroyEvent", Need::kRelease, [&]() -> Status {
    std::shared_ptr<Event> event;
    ASCEND_TWIN_TRY(event_of(handle, &event));
    if (library().events.remove(handle) != nullptr) give_event_resource(*event);
    return ACL_SUCCESS;
  });
}

aclError aclrtRecordEvent(aclrtEvent handle, aclrtStream stream_handle) {
  return call("aclrtRecordEvent", Need::kContext, [&]() -> Status {
    std::shared_ptr<Event> event;
    ASCEND_TWIN_TRY(event_of(handle, &event));
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(stream_handle, &stream));
    return record_event(event, *stream);
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream_handle, aclrtEvent handle) {
  return call("aclrtStreamWaitEvent", Need::kContext, [&]() -> Status {
    std::shared_ptr<Event> event;
    ASCEND_TWIN_TRY(any_event_of(handle, &event));
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(stream_handle, &stream));
    if (!is_for_waits(*event))
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "the event was made without SYNC");
    bool was_recorded = false;
    {
      const std::lock_guard lock(event->mutex);
      was_recorded = event->recorded != 0 || event->recorder.lock() != nullptr;
    }
    if (!was_recorded && event->mode == Event::Mode::kPlain)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "EE1018: the event was never recorded");
    if (!was_recorded && event->mode == Event::Mode::kOld) {
      ASCEND_TWIN_TRY(
          object(ACL_ERROR_RT_PARAM_INVALID, "a stream waits for an event before its record"));
    }
    return wait_in_stream(event, *stream);
  });
}

aclError aclrtResetEvent(aclrtEvent handle, aclrtStream stream_handle) {
  return call("aclrtResetEvent", Need::kContext, [&]() -> Status {
    std::shared_ptr<Event> event;
    ASCEND_TWIN_TRY(need_old_mode(handle, &event));
    if ((event->flags & ACL_EVENT_SYNC) == 0)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "the event was made without SYNC");
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(stream_handle, &stream));
    return reset_in_stream(event, *stream);
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return call("aclrtSynchronizeEvent", Need::kContext,
              [&] { return synchronize_event(event, -1); });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t milliseconds) {
  return call("aclrtSynchronizeEventWithTimeout", Need::kContext, [&]() -> Status {
    if (milliseconds == 0 || milliseconds < -1)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, std::to_string(milliseconds) + " ms");
    return synchronize_event(event, milliseconds);
  });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return call("aclrtQueryEventStatus", Need::kContext, [&]() -> Status {
    if (status == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the status's pointer is null");
    bool is_complete = false;
    ASCEND_TWIN_TRY(query(event, &is_complete));
    *status =
        is_complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtQueryEvent(aclrtEvent handle, aclrtEventStatus* status) {
  return call("aclrtQueryEvent", Need::kContext, [&]() -> Status {
    if (status == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the status's pointer is null");
    std::shared_ptr<Event> event;
    ASCEND_TWIN_TRY(need_old_mode(handle, &event));
    bool is_complete = false;
    ASCEND_TWIN_TRY(query(handle, &is_complete));
    *status = is_complete ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent handle, aclrtEventWaitStatus* status) {
  return call("aclrtQueryEventWaitStatus", Need::kContext, [&]() -> Status {
    if (status == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the status's pointer is null");
    std::shared_ptr<Event> event;
    ASCEND_TWIN_TRY(need_old_mode(handle, &event));
    const std::lock_guard lock(event->mutex);
    *status = event->waits == 0 ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent start, aclrtEvent end) {
  return call("aclrtEventElapsedTime", Need::kContext, [&]() -> Status {
    if (milliseconds == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "the time's pointer is null");
    std::uint64_t first = 0, last = 0;
    ASCEND_TWIN_TRY(timestamp(start, &first));
    ASCEND_TWIN_TRY(timestamp(end, &last));
    if (last < first)
      return refuse(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "the end was reached before the start");
    *milliseconds = static_cast<float>(last - first) / 1000.0F;
    return ACL_SUCCESS;
  });
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* microseconds) {
  return call("aclrtEventGetTimestamp", Need::kContext, [&]() -> Status {
    if (microseconds == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "the time's pointer is null");
    return timestamp(event, microseconds);
  });
}
