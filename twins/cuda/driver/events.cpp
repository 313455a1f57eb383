#include <chrono>
#include <optional>

#include "cuda/call.h"
#include "cuda/driver/perform.h"
#include "cuda/driver/worker.h"
#include "cuda/graphs/capture.h"
#include "cuda/races/work_order.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

/// Of the devices' clocks.
std::uint64_t now() {
  constexpr std::uint64_t kMillion = 1'000'000;
  const auto host =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
  const auto fast = static_cast<std::uint64_t>(setting(Setting::kClock));
  return host + host / kMillion * fast + host % kMillion * fast / kMillion;
}

CUresult event_of(CUevent handle, std::shared_ptr<Event>& event) {
  event = driver().events.find(handle);
  if (event != nullptr) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_INVALID_HANDLE, "the handle is no event");
}

/// An event is used with its own context, whatever the current one is: a lost one says so.
CUresult surface_of(const Event& event) {
  const std::shared_ptr<Context> context = event.context.lock();
  return context == nullptr ? CUDA_SUCCESS : surface(*context);
}

void host_knows(const Event& event) {
  if (event.number != 0) driver().space->works().host_waited(event.number);
}

CUresult record(Context& context, Stream& stream, CUevent handle, unsigned flags) {
  std::shared_ptr<Event> event;
  if ((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) != 0) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
  }
  CUDA_TWIN_TRY(event_of(handle, event));
  if (event->context.lock().get() != &context) {
    return refuse(CUDA_ERROR_INVALID_HANDLE, "event and stream have different contexts");
  }
  const Captured captured = capture_record(stream, event, (flags & CU_EVENT_RECORD_EXTERNAL) != 0);
  if (captured.taken) return captured.result;
  return submit(stream, RecordWork{event});
}

CUresult elapsed(float* milliseconds, CUevent from, CUevent to) {
  std::shared_ptr<Event> first;
  std::shared_ptr<Event> last;
  if (milliseconds == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the result is null");
  CUDA_TWIN_TRY(event_of(from, first));
  CUDA_TWIN_TRY(event_of(to, last));
  CUDA_TWIN_TRY(refuse_synchronize(first));
  CUDA_TWIN_TRY(refuse_synchronize(last));
  if (((first->flags | last->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
    return refuse(CUDA_ERROR_INVALID_HANDLE, "an event has no timing");
  }
  std::uint64_t times[2] = {};
  for (int i = 0; i < 2; ++i) {
    const Event& event = i == 0 ? *first : *last;
    const std::lock_guard lock(event.mutex);
    if (event.recorded == 0) return refuse(CUDA_ERROR_INVALID_HANDLE, "an event was not recorded");
    if (event.pending.count(event.recorded) != 0) return CUDA_ERROR_NOT_READY;
    times[i] = event.nanoseconds;
  }
  *milliseconds =
      static_cast<float>(static_cast<double>(times[1]) / 1e6 - static_cast<double>(times[0]) / 1e6);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult perform_record(const RecordWork& work) {
  Event& event = *work.event;
  const std::lock_guard lock(event.mutex);
  const std::uint64_t record = work.record == 0 ? ++event.recorded : work.record;
  event.pending.erase(record);
  if (record == event.recorded) event.nanoseconds = now();
  event.changed.notify_all();
  return CUDA_SUCCESS;
}

CUresult perform_wait(Context& context, const WaitWork& work) {
  Event& event = *work.event;
  hurry(event);
  std::unique_lock lock(event.mutex);
  const auto done = [&] { return event.pending.count(work.record) == 0; };
  while (!done() && !context.destroyed) {
    event.changed.wait_for(lock, std::chrono::milliseconds(20), done);
  }
  return CUDA_SUCCESS;
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    constexpr unsigned kFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
    if (event == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "event is null");
    if ((flags & CU_EVENT_INTERPROCESS) != 0) {
      return refuse(CUDA_ERROR_NOT_SUPPORTED, "the twin shares no events with other processes");
    }
    if ((flags & ~kFlags) != 0) return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
    auto made = std::make_shared<Event>();
    made->context = context.weak_from_this();
    made->flags = flags;
    made->handle = as_handle<CUevent>(driver().events.add(made));
    *event = made->handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy(CUevent event) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    if (driver().events.take(event) != nullptr) return CUDA_SUCCESS;
    return refuse(CUDA_ERROR_INVALID_HANDLE, "the handle is no event");
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) {
    return record(context, found, event, CU_EVENT_RECORD_DEFAULT);
  });
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) {
    return record(context, found, event, flags);
  });
}

CUresult cuEventQuery(CUevent event) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    std::shared_ptr<Event> found;
    CUDA_TWIN_TRY(event_of(event, found));
    CUDA_TWIN_TRY(refuse_synchronize(found));
    hurry(*found);  // programs that poll make progress
    {
      const std::lock_guard lock(found->mutex);
      if (found->pending.count(found->recorded) != 0) return CUDA_ERROR_NOT_READY;
      host_knows(*found);
    }
    return surface_of(*found);
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    std::shared_ptr<Event> found;
    CUDA_TWIN_TRY(event_of(event, found));
    CUDA_TWIN_TRY(refuse_synchronize(found));
    hurry(*found);
    {
      std::unique_lock lock(found->mutex);
      const std::uint64_t record = found->recorded;
      const std::uint64_t number = found->number;
      found->changed.wait(lock, [&] { return found->pending.count(record) == 0; });
      if (number != 0) driver().space->works().host_waited(number);
    }
    return surface_of(*found);
  });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  return call_in_stream(__func__, stream, [&](Context&, Stream& found) -> CUresult {
    std::shared_ptr<Event> waited;
    if ((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) != 0) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
    }
    CUDA_TWIN_TRY(event_of(event, waited));
    const Captured captured = capture_wait(found, waited, (flags & CU_EVENT_WAIT_EXTERNAL) != 0);
    if (captured.taken) return captured.result;
    WaitWork work{waited};
    {
      const std::lock_guard lock(waited->mutex);
      work.record = waited->recorded;
    }
    // An event that was never recorded delays nothing.
    return work.record == 0 ? CUDA_SUCCESS : submit(found, std::move(work));
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return call_in_context(__func__, [&](Context&) { return elapsed(milliseconds, start, end); });
}

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return call_in_context(__func__, [&](Context&) { return elapsed(milliseconds, start, end); });
}

}  // extern "C"
