// Events: modes, order across streams and devices, times.
#include <thread>

#include "runtime_support.h"

namespace ascend_test {
namespace {

using RuntimeEvents = TwinTest;
using RuntimeEventsThread = TwinTest;

/// An event of aclrtCreateEventExWithFlag, or without flags of aclrtCreateEvent.
class EventOf {
 public:
  explicit EventOf(std::uint32_t flags = 0) {
    EXPECT_EQ(flags == 0 ? aclrtCreateEvent(&event_) : aclrtCreateEventExWithFlag(&event_, flags),
              ACL_SUCCESS);
  }
  ~EventOf() { aclrtDestroyEvent(event_); }
  EventOf(const EventOf&) = delete;
  EventOf& operator=(const EventOf&) = delete;
  aclrtEvent get() const { return event_; }

 private:
  aclrtEvent event_ = nullptr;
};

aclError fill_async(const Buffer& target, int value, aclrtStream stream) {
  return aclrtMemsetAsync(target.address(), target.bytes(), value, target.bytes(), stream);
}

TEST_F(RuntimeEvents, CallsCheckTheirArguments) {
  EventOf event;
  int none = 0;
  aclrtEvent made = nullptr;
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  std::uint64_t time = 0;
  float milliseconds = 0;
  EXPECT_EQ(aclrtCreateEvent(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateEventWithFlag(&made, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtCreateEventWithFlag(&made, 0x100), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtCreateEventExWithFlag(&made, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtDestroyEvent(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDestroyEvent(&none), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtRecordEvent(nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtRecordEvent(event.get(), &none), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, &none), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtSynchronizeEvent(&none), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event.get(), 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtQueryEventStatus(event.get(), nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtQueryEventStatus(&none, &status), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtQueryEvent(event.get(), nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtQueryEventWaitStatus(event.get(), nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtEventElapsedTime(nullptr, event.get(), event.get()), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtEventGetTimestamp(event.get(), nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtEventGetTimestamp(event.get(), &time), ACL_ERROR_RT_INTERNAL_ERROR);
  EXPECT_EQ(aclrtEventElapsedTime(&milliseconds, event.get(), event.get()),
            ACL_ERROR_RT_INTERNAL_ERROR);
}

TEST_F(RuntimeEvents, BelongToTheirContext) {
  EventOf event;
  aclrtContext first = nullptr, second = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&first), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateContext(&second, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event.get(), nullptr), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtDestroyEvent(event.get()), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_ERROR_RT_STREAM_CONTEXT);
  ASSERT_EQ(aclrtDestroyContext(second), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetCurrentContext(first), ACL_SUCCESS);
}

/// The answers of an event that was never recorded.
TEST_F(RuntimeEvents, EachModeHasItsAnswersBeforeARecord) {
  EventOf plain, ex(ACL_EVENT_SYNC);
  aclrtEvent old = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&old, ACL_EVENT_SYNC), ACL_SUCCESS);
  aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  aclrtEventStatus status = ACL_EVENT_STATUS_COMPLETE;
  aclrtEventWaitStatus waits = ACL_EVENT_WAIT_STATUS_NOT_READY;
  EXPECT_EQ(aclrtQueryEventStatus(ex.get(), &recorded), ACL_SUCCESS);
  EXPECT_EQ(recorded, ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_EQ(aclrtQueryEventStatus(old, &recorded), ACL_SUCCESS);
  EXPECT_EQ(recorded, ACL_EVENT_RECORDED_STATUS_NOT_READY);
  EXPECT_EQ(aclrtQueryEvent(old, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_STATUS_NOT_READY);
  EXPECT_EQ(aclrtQueryEventWaitStatus(old, &waits), ACL_SUCCESS);
  EXPECT_EQ(waits, ACL_EVENT_WAIT_STATUS_COMPLETE);
  EXPECT_EQ(aclrtSynchronizeEvent(plain.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(ex.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, ex.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, plain.get()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(refused_with("EE1018"));
  EXPECT_EQ(aclrtQueryEvent(ex.get(), &status), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtQueryEventWaitStatus(ex.get(), &waits), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtResetEvent(ex.get(), nullptr), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtResetEvent(plain.get(), nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtDestroyEvent(old), ACL_SUCCESS);
}

TEST_F(RuntimeEvents, WithoutSyncNoStreamWaits) {
  EventOf ex(ACL_EVENT_TIME_LINE);
  aclrtEvent old = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&old, ACL_EVENT_CAPTURE_STREAM_PROGRESS), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(ex.get(), nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, ex.get()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, old), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtResetEvent(old, nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtDestroyEvent(old), ACL_SUCCESS);
}

TEST_F(RuntimeEvents, AStreamWaitsForWhatWasRecordedBefore) {
  for (const char* order : {"eager", "lazy", "2", "5", "9"}) {
    restart({{"ORDER", order}});
    OwnStream one, other;
    EventOf event(ACL_EVENT_SYNC);
    Buffer a(256), b(256);
    ASSERT_EQ(fill_async(b, 0, nullptr), ACL_SUCCESS);
    ASSERT_EQ(sync(nullptr), ACL_SUCCESS);
    ASSERT_EQ(fill_async(a, 3, one.get()), ACL_SUCCESS);
    ASSERT_EQ(aclrtRecordEvent(event.get(), one.get()), ACL_SUCCESS);
    ASSERT_EQ(aclrtStreamWaitEvent(other.get(), event.get()), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemcpyAsync(b.address(), 256, a.address(), 256, ACL_MEMCPY_DEVICE_TO_DEVICE,
                               other.get()),
              ACL_SUCCESS);
    ASSERT_EQ(sync(other.get()), ACL_SUCCESS);
    EXPECT_EQ(b.get<std::uint8_t>(), std::vector<std::uint8_t>(256, 3)) << order;
  }
}

TEST_F(RuntimeEvents, ALaterRecordDoesNotEndAnEarlierWait) {
  restart({{"ORDER", "lazy"}});
  OwnStream slow, quick, waiting;
  EventOf event(ACL_EVENT_SYNC);
  Buffer a(64), b(64);
  ASSERT_EQ(fill_async(a, 5, slow.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), slow.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(waiting.get(), event.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), quick.get()), ACL_SUCCESS);
  ASSERT_EQ(sync(quick.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(b.address(), 64, a.address(), 64, ACL_MEMCPY_DEVICE_TO_DEVICE,
                             waiting.get()),
            ACL_SUCCESS);
  ASSERT_EQ(sync(waiting.get()), ACL_SUCCESS);
  EXPECT_EQ(b.get<std::uint8_t>(), std::vector<std::uint8_t>(64, 5));
}

TEST_F(RuntimeEvents, OrderStreamsOfTwoDevices) {
  restart({{"DEVICES", "2"}, {"ORDER", "lazy"}});
  EventOf event(ACL_EVENT_SYNC);
  Buffer source(64);
  Pinned middle(64);
  ASSERT_EQ(fill_async(source, 9, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(middle.address(), 64, source.address(), 64, ACL_MEMCPY_DEVICE_TO_HOST,
                             nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  {
    Buffer target(64);
    EXPECT_EQ(aclrtStreamWaitEvent(nullptr, event.get()), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemcpyAsync(target.address(), 64, middle.address(), 64,
                               ACL_MEMCPY_HOST_TO_DEVICE, nullptr),
              ACL_SUCCESS);
    ASSERT_EQ(sync(nullptr), ACL_SUCCESS);
    EXPECT_EQ(target.get<std::uint8_t>(), std::vector<std::uint8_t>(64, 9));
  }
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST_F(RuntimeEvents, TellNothingOfFailures) {
  OwnStream stream;
  EventOf event(ACL_EVENT_SYNC);
  submit_failure(stream.get());
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_SUCCESS);
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  EXPECT_EQ(aclrtQueryEventStatus(event.get(), &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_EQ(sync(stream.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
}

TEST_F(RuntimeEvents, QueriesHurryLazyStreams) {
  restart({{"ORDER", "lazy"}});
  EventOf event(ACL_EVENT_SYNC);
  ASSERT_EQ(aclrtRecordEvent(event.get(), nullptr), ACL_SUCCESS);
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  ASSERT_EQ(aclrtQueryEventStatus(event.get(), &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
  while (status == ACL_EVENT_RECORDED_STATUS_NOT_READY) {
    std::this_thread::yield();
    ASSERT_EQ(aclrtQueryEventStatus(event.get(), &status), ACL_SUCCESS);
  }
}

TEST_F(RuntimeEvents, AnEventOfOldModeCanBeResetAndRecordedAgain) {
  aclrtEvent old = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&old, ACL_EVENT_SYNC), ACL_SUCCESS);
  aclrtEventStatus status = ACL_EVENT_STATUS_NOT_READY;
  const auto status_after = [&](aclError code) {
    EXPECT_EQ(code, ACL_SUCCESS);
    EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtQueryEvent(old, &status), ACL_SUCCESS);
    return status;
  };
  EXPECT_EQ(status_after(aclrtRecordEvent(old, nullptr)), ACL_EVENT_STATUS_COMPLETE);
  EXPECT_EQ(status_after(aclrtResetEvent(old, nullptr)), ACL_EVENT_STATUS_NOT_READY);
  EXPECT_EQ(status_after(aclrtRecordEvent(old, nullptr)), ACL_EVENT_STATUS_COMPLETE);
  EXPECT_EQ(aclrtDestroyEvent(old), ACL_SUCCESS);
}

TEST_F(RuntimeEvents, AnEventOfOldModeIsWaitedForBeforeItsRecord) {
  aclrtEvent old = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&old, ACL_EVENT_SYNC), ACL_SUCCESS);
  OwnStream waiting, recording;
  Buffer target(8);
  ASSERT_EQ(fill_async(target, 1, nullptr), ACL_SUCCESS);
  ASSERT_EQ(sync(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(waiting.get(), old), ACL_SUCCESS);
  ASSERT_EQ(fill_async(target, 2, waiting.get()), ACL_SUCCESS);
  aclrtEventWaitStatus waits = ACL_EVENT_WAIT_STATUS_COMPLETE;
  EXPECT_EQ(aclrtQueryEventWaitStatus(old, &waits), ACL_SUCCESS);
  EXPECT_EQ(waits, ACL_EVENT_WAIT_STATUS_NOT_READY);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(waiting.get(), 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(target.get<std::uint8_t>()[0], 1);
  ASSERT_EQ(aclrtRecordEvent(old, recording.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(waiting.get()), ACL_SUCCESS);
  EXPECT_EQ(target.get<std::uint8_t>()[0], 2);
  set("STRICT", "status");
  aclrtEvent fresh = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&fresh, ACL_EVENT_SYNC), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(waiting.get(), fresh), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("before its record"));
  EXPECT_EQ(aclrtDestroyEvent(fresh), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(old), ACL_SUCCESS);
}

TEST_F(RuntimeEvents, AForcedEndOfAStreamReachesItsRecordsAndEndsItsWaits) {
  restart({{"ORDER", "lazy"}});
  aclrtStream gone = nullptr, blocked = nullptr;
  ASSERT_EQ(aclrtCreateStream(&gone), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&blocked), ACL_SUCCESS);
  EventOf event(ACL_EVENT_SYNC);
  ASSERT_EQ(aclrtRecordEvent(event.get(), gone), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStreamForce(gone), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_SUCCESS);
  aclrtEvent never = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&never, ACL_EVENT_SYNC), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(blocked, never), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(blocked, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtDestroyStreamForce(blocked), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(never), ACL_SUCCESS);
}

TEST_F(RuntimeEvents, TimesAreThoseOfTheHostsClock) {
  OwnStream stream;
  EventOf start, end;
  ASSERT_EQ(aclrtRecordEvent(start.get(), stream.get()), ACL_SUCCESS);
  ASSERT_EQ(sync(stream.get()), ACL_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(aclrtRecordEvent(end.get(), stream.get()), ACL_SUCCESS);
  ASSERT_EQ(sync(stream.get()), ACL_SUCCESS);
  float milliseconds = -1;
  EXPECT_EQ(aclrtEventElapsedTime(&milliseconds, start.get(), end.get()), ACL_SUCCESS);
  EXPECT_GE(milliseconds, 19.5F);
}

TEST_F(RuntimeEvents, TimesMayCountTheTasksBetweenThem) {
  set("CLOCK", "tasks");
  OwnStream stream;
  EventOf start, end, untimed(ACL_EVENT_SYNC);
  Buffer target(4);
  ASSERT_EQ(aclrtRecordEvent(start.get(), stream.get()), ACL_SUCCESS);
  for (int i = 0; i < 9; ++i) ASSERT_EQ(fill_async(target, i, stream.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(end.get(), stream.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(untimed.get(), stream.get()), ACL_SUCCESS);
  ASSERT_EQ(sync(stream.get()), ACL_SUCCESS);
  float milliseconds = -1;
  EXPECT_EQ(aclrtEventElapsedTime(&milliseconds, start.get(), end.get()), ACL_SUCCESS);
  EXPECT_EQ(milliseconds, 0.01F);  // ten tasks of a microsecond
  EXPECT_EQ(aclrtEventElapsedTime(&milliseconds, end.get(), start.get()),
            ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL);
  EXPECT_EQ(aclrtEventElapsedTime(&milliseconds, start.get(), untimed.get()),
            ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  std::uint64_t first = 0, last = 0;
  EXPECT_EQ(aclrtEventGetTimestamp(start.get(), &first), ACL_SUCCESS);
  EXPECT_EQ(aclrtEventGetTimestamp(end.get(), &last), ACL_SUCCESS);
  EXPECT_EQ(last - first, 10U);
}

TEST_F(RuntimeEvents, TheTimeIsOfTheLastRecordEvenIfAnEarlierOneComesLater) {
  restart({{"ORDER", "lazy"}});
  OwnStream slow, quick;
  EventOf event;
  ASSERT_EQ(aclrtRecordEvent(event.get(), slow.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), quick.get()), ACL_SUCCESS);
  std::uint64_t first = 0, second = 0;
  ASSERT_EQ(sync(quick.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtEventGetTimestamp(event.get(), &first), ACL_SUCCESS);
  ASSERT_EQ(sync(slow.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtEventGetTimestamp(event.get(), &second), ACL_SUCCESS);
  EXPECT_EQ(first, second);
}

TEST_F(RuntimeEvents, ATimeBeforeTheRecordIsReachedIsRefused) {
  restart({{"ORDER", "lazy"}});
  EventOf event;
  ASSERT_EQ(aclrtRecordEvent(event.get(), nullptr), ACL_SUCCESS);
  std::uint64_t time = 0;
  EXPECT_EQ(aclrtEventGetTimestamp(event.get(), &time), 507006);
  EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtEventGetTimestamp(event.get(), &time), ACL_SUCCESS);
}

TEST_F(RuntimeEvents, A310PHas1023OfThemFromTheirFirstRecordOn) {
  restart({{"PROFILE", "310p"}});
  std::vector<aclrtEvent> events(1024);
  for (aclrtEvent& event : events)
    ASSERT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  for (std::size_t i = 0; i < 1023; ++i)
    ASSERT_EQ(aclrtRecordEvent(events[i], nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(events[1023], nullptr), ACL_ERROR_RT_NO_EVENT_RESOURCE);
  aclrtEvent old = nullptr;
  EXPECT_EQ(aclrtCreateEventWithFlag(&old, ACL_EVENT_SYNC), ACL_ERROR_RT_NO_EVENT_RESOURCE);
  EXPECT_EQ(aclrtRecordEvent(events[0], nullptr), ACL_SUCCESS);  // it has its own
  EXPECT_EQ(aclrtDestroyEvent(events[7]), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(events[1023], nullptr), ACL_SUCCESS);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(aclrtDestroyEvent(events[i]), i == 7 ? ACL_ERROR_RT_INVALID_HANDLE : ACL_SUCCESS);
  }
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_EVENTS), 0U);
}

TEST_F(RuntimeEvents, AFaultTakesTheFirstRecordOrAnOldEvent) {
  EventOf event(ACL_EVENT_SYNC);
  set("FAIL_RESOURCE", "1");
  EXPECT_EQ(aclrtRecordEvent(event.get(), nullptr), ACL_ERROR_RT_NO_EVENT_RESOURCE);
  EXPECT_EQ(aclrtRecordEvent(event.get(), nullptr), ACL_SUCCESS);
  set("FAIL_RESOURCE", "1");
  aclrtEvent old = nullptr;
  EXPECT_EQ(aclrtCreateEventWithFlag(&old, ACL_EVENT_SYNC), ACL_ERROR_RT_NO_EVENT_RESOURCE);
}

TEST_F(RuntimeEvents, CapturedEventsAnswerNothingToTheHost) {
  OwnStream stream;
  EventOf event(ACL_EVENT_SYNC);
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  aclmdlRI model = nullptr;
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), ACL_MODEL_RI_CAPTURE_MODE_RELAXED), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_ERROR_RT_EVENT_CAPTURED);
  EXPECT_EQ(aclrtQueryEventStatus(event.get(), &status), ACL_ERROR_RT_EVENT_CAPTURED);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(aclrtRecordEvent(event.get(), stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_SUCCESS);
}

TEST_F(RuntimeEvents, OnlyTheNewModeIsCaptured) {
  OwnStream stream;
  EventOf plain;
  aclmdlRI model = nullptr;
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), ACL_MODEL_RI_CAPTURE_MODE_RELAXED), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(plain.get(), stream.get()), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(RuntimeEvents, EachReplayRecordsAnExternalEvent) {
  OwnStream stream, other;
  EventOf event(ACL_EVENT_EXTERNAL);
  Buffer a(16), b(16);
  ASSERT_EQ(fill_async(a, 1, nullptr), ACL_SUCCESS);
  ASSERT_EQ(sync(nullptr), ACL_SUCCESS);
  const aclmdlRI model = capture_of(stream.get(), [&] {
    EXPECT_EQ(fill_async(a, 4, stream.get()), ACL_SUCCESS);
    EXPECT_EQ(aclrtRecordEvent(event.get(), stream.get()), ACL_SUCCESS);
    // The capture does not own it: the host may ask.
    aclrtEventRecordedStatus during = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    EXPECT_EQ(aclrtQueryEventStatus(event.get(), &during), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_SUCCESS);
  });
  ASSERT_NE(model, nullptr);
  ASSERT_EQ(aclmdlRIExecuteAsync(model, stream.get()), ACL_SUCCESS);
  ASSERT_EQ(sync(stream.get()), ACL_SUCCESS);
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  EXPECT_EQ(aclrtQueryEventStatus(event.get(), &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_EQ(aclrtStreamWaitEvent(other.get(), event.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(other.get()), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
}

TEST_F(RuntimeEventsThread, AThreadWaitsForAnEventOfAnother) {
  for (const char* order : {"eager", "lazy", "3"}) {
    restart({{"ORDER", order}});
    OwnStream stream;
    EventOf event(ACL_EVENT_SYNC);
    Buffer target(32);
    aclrtContext context = nullptr;
    ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
    ASSERT_EQ(fill_async(target, 6, stream.get()), ACL_SUCCESS);
    ASSERT_EQ(aclrtRecordEvent(event.get(), stream.get()), ACL_SUCCESS);
    on_thread([&] {
      ASSERT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
      EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event.get(), 60000), ACL_SUCCESS);
      EXPECT_EQ(target.get<std::uint8_t>(), std::vector<std::uint8_t>(32, 6));
    });
  }
}

TEST_F(RuntimeEventsThread, ATimeoutOfAnEventHasItsOwnCode) {
  OwnStream stream;
  EventOf event(ACL_EVENT_SYNC);
  static std::atomic<bool> go{false};
  go = false;
  ASSERT_EQ(NEWER(aclrtLaunchHostFunc)(
                stream.get(),
                [](void*) {
                  while (!go) std::this_thread::yield();
                },
                nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event.get(), 20), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  go = true;
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event.get(), -1), ACL_SUCCESS);
}

}  // namespace
}  // namespace ascend_test
