// Streams: order, late errors, failure modes, aborts and limits.
#include <atomic>
#include <chrono>
#include <thread>

#include "runtime_support.h"

namespace ascend_test {
namespace {

using RuntimeStreams = TwinTest;
using RuntimeStreamsThread = TwinTest;

TEST_F(RuntimeStreams, CallsCheckTheirArguments) {
  aclrtStream stream = nullptr;
  aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
  std::int32_t id = 0;
  int none = 0;
  EXPECT_EQ(aclrtCreateStream(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateStreamWithConfig(&stream, 8, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtCreateStreamWithConfig(&stream, 0, 0x100), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtDestroyStream(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDestroyStream(&none), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyStreamForce(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSynchronizeStream(&none), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(nullptr, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(nullptr, -2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtStreamQuery(nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtStreamQuery(&none, &status), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtSetStreamFailureMode(nullptr, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtStreamGetId(nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtStreamGetId(nullptr, &id), ACL_SUCCESS);
  EXPECT_EQ(NEWER(aclrtGetStreamAvailableNum)(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtStreamAbort(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetThreadLastTaskId(nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(RuntimeStreams, ALateErrorIsToldOnceAndByItsOwnStream) {
  OwnStream one, other;
  submit_failure(one.get());
  EXPECT_EQ(sync(other.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(one.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(sync(one.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_AICORE_EXCEPTION);
}

TEST_F(RuntimeStreams, TheDeviceTellsLateErrorsOfAllItsStreams) {
  OwnStream one;
  submit_failure(one.get());
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  submit_failure(one.get());
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(60000), ACL_ERROR_RT_AICORE_EXCEPTION);
}

TEST_F(RuntimeStreams, ALaterFailureOverwritesAnEarlierOne) {
  OwnStream stream;
  Buffer target(4);
  set("FAIL_LATE", "2");
  set("LATE_CODE", "507035");
  submit_failure(stream.get());
  ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 1, 4, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_ERROR_RT_VECTOR_CORE_EXCEPTION);
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
}

TEST_F(RuntimeStreams, QueriesHurryWorkThatIsHeldBack) {
  restart({{"ORDER", "lazy"}});
  OwnStream stream;
  Buffer target(4);
  ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 0x11, 4, stream.get()), ACL_SUCCESS);
  aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
  ASSERT_EQ(aclrtStreamQuery(stream.get(), &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  while (status != ACL_STREAM_STATUS_COMPLETE) {
    std::this_thread::yield();
    ASSERT_EQ(aclrtStreamQuery(stream.get(), &status), ACL_SUCCESS);
  }
  EXPECT_EQ(target.get<std::uint32_t>()[0], 0x11111111U);
}

TEST_F(RuntimeStreams, DestroyingWaitsAndForcingDrops) {
  restart({{"ORDER", "lazy"}});
  Buffer target(8);
  target.put(std::vector<std::uint32_t>{0, 0});
  aclrtStream one = nullptr, two = nullptr;
  ASSERT_EQ(aclrtCreateStream(&one), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&two), ACL_SUCCESS);
  auto* const bytes = static_cast<std::byte*>(target.address());
  ASSERT_EQ(aclrtMemsetAsync(bytes, 4, 1, 4, one), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(bytes + 4, 4, 1, 4, two), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(one), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStreamForce(two), ACL_SUCCESS);
  EXPECT_EQ(target.get<std::uint32_t>(), (std::vector<std::uint32_t>{0x01010101, 0}));
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_STREAMS), 1U);  // the default stream
}

TEST_F(RuntimeStreams, AnAbortLeavesQueuedWorkOut) {
  restart({{"ORDER", "lazy"}});
  OwnStream stream;
  Buffer target(4);
  target.put(std::vector<std::uint32_t>{7});
  ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 1, 4, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamAbort(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_ERROR_RT_STREAM_ABORT);
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 1, 4, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceTaskAbort(0, 100), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_ERROR_RT_DEVICE_TASK_ABORT);
  EXPECT_EQ(target.get<std::uint32_t>()[0], 7U);
  EXPECT_EQ(aclrtStreamAbort(stream.get()), ACL_SUCCESS);  // nothing is queued
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
}

TEST_F(RuntimeStreams, AFailureStopsTheContextWhereAsked) {
  OwnStream stopping, other;
  Buffer target(4);
  target.put(std::vector<std::uint32_t>{7});
  EXPECT_EQ(aclrtSetStreamFailureMode(stopping.get(), ACL_CONTINUE_ON_FAILURE), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamFailureMode(stopping.get(), ACL_STOP_ON_FAILURE), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamFailureMode(stopping.get(), ACL_CONTINUE_ON_FAILURE),
            ACL_ERROR_RT_PARAM_INVALID);
  submit_failure(stopping.get());
  EXPECT_EQ(sync(stopping.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(sync(other.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(aclrtMemsetAsync(target.address(), 4, 1, 4, other.get()),
            ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(target.get<std::uint32_t>()[0], 7U);
}

TEST_F(RuntimeStreams, DefaultStreamsOfThe310sHaveNoFailureMode) {
  EXPECT_EQ(aclrtSetStreamFailureMode(nullptr, ACL_STOP_ON_FAILURE), ACL_SUCCESS);
  restart({{"PROFILE", "310p"}});
  EXPECT_EQ(aclrtSetStreamFailureMode(nullptr, ACL_STOP_ON_FAILURE),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  OwnStream stream;
  EXPECT_EQ(aclrtSetStreamFailureMode(stream.get(), ACL_STOP_ON_FAILURE), ACL_SUCCESS);
}

TEST_F(RuntimeStreams, StrictModeObjectsToAFailureModeAfterWork) {
  OwnStream stream;
  Buffer target(4);
  ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 1, 4, stream.get()), ACL_SUCCESS);
  ASSERT_EQ(sync(stream.get()), ACL_SUCCESS);
  set("STRICT", "status");
  EXPECT_EQ(aclrtSetStreamFailureMode(stream.get(), ACL_STOP_ON_FAILURE),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("has had work"));
}

TEST_F(RuntimeStreams, StreamsOfADeviceAreLimited) {
  restart({{"PROFILE", "310b"}});
  std::uint32_t available = 0;
  ASSERT_EQ(NEWER(aclrtGetStreamAvailableNum)(&available), ACL_SUCCESS);
  EXPECT_EQ(available, 511U);  // the default stream is one of 512
  std::vector<aclrtStream> streams(511);
  for (aclrtStream& stream : streams) ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(NEWER(aclrtGetStreamAvailableNum)(&available), ACL_SUCCESS);
  EXPECT_EQ(available, 0U);
  aclrtStream more = nullptr;
  aclrtContext context = nullptr;
  EXPECT_EQ(aclrtCreateStream(&more), ACL_ERROR_RT_NO_STREAM_RESOURCE);
  EXPECT_EQ(aclrtCreateContext(&context, 0), ACL_ERROR_RT_NO_STREAM_RESOURCE);
  ASSERT_EQ(aclrtDestroyStream(streams[5]), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateStream(&streams[5]), ACL_SUCCESS);
  for (const aclrtStream stream : streams) ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(RuntimeStreams, AFaultTakesAStream) {
  set("FAIL_RESOURCE", "2");
  OwnStream first;
  aclrtStream second = nullptr;
  EXPECT_EQ(aclrtCreateStream(&second), ACL_ERROR_RT_NO_STREAM_RESOURCE);
  EXPECT_EQ(aclrtCreateStream(&second), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(second), ACL_SUCCESS);
}

TEST_F(RuntimeStreams, TasksAreNumberedInTheirStream) {
  OwnStream stream;
  Buffer target(4);
  std::uint32_t task = 0;
  for (std::uint32_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 1, 4, stream.get()), ACL_SUCCESS);
    ASSERT_EQ(aclrtGetThreadLastTaskId(&task), ACL_SUCCESS);
    EXPECT_EQ(task, i);
  }
  std::int32_t one = 0, other = 0;
  ASSERT_EQ(aclrtStreamGetId(stream.get(), &one), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamGetId(nullptr, &other), ACL_SUCCESS);
  EXPECT_NE(one, other);
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
}

TEST_F(RuntimeStreams, ATimeoutEndsTheWaitAndNotTheWork) {
  OwnStream stream;
  static std::atomic<bool> go{false};
  go = false;
  ASSERT_EQ(NEWER(aclrtLaunchHostFunc)(
                stream.get(),
                [](void*) {
                  while (!go) std::this_thread::yield();
                },
                nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream.get(), 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  go = true;
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream.get(), -1), ACL_SUCCESS);
}

TEST_F(RuntimeStreamsThread, ManyThreadsUseOneStream) {
  OwnStream stream;
  constexpr int kThreads = 4, kTasks = 50;
  Pinned values(kThreads * kTasks);
  Buffer target(kThreads * kTasks);
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
      for (int i = 0; i < kTasks; ++i) {
        const int at = t * kTasks + i;
        auto* const to = static_cast<std::uint8_t*>(target.address()) + at;
        EXPECT_EQ(aclrtMemsetAsync(to, 1, at, 1, stream.get()), ACL_SUCCESS);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(sync(stream.get()), ACL_SUCCESS);
  const auto got = target.get<std::uint8_t>();
  for (int i = 0; i < kThreads * kTasks; ++i)
    ASSERT_EQ(got[static_cast<std::size_t>(i)], static_cast<std::uint8_t>(i));
}

TEST_F(RuntimeStreamsThread, DestroyingAStreamKeepsItsWaits) {
  OwnStream slow;
  aclrtStream waiting = nullptr;
  ASSERT_EQ(aclrtCreateStream(&waiting), ACL_SUCCESS);
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  static std::atomic<bool> go{false}, seen{false};
  go = seen = false;
  const auto launch = NEWER(aclrtLaunchHostFunc);
  ASSERT_EQ(launch(
                slow.get(),
                [](void*) {
                  while (!go) std::this_thread::yield();
                },
                nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, slow.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(waiting, event), ACL_SUCCESS);
  ASSERT_EQ(launch(
                waiting, [](void*) { seen = go.load(); }, nullptr),
            ACL_SUCCESS);
  std::thread other([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    go = true;
  });
  EXPECT_EQ(aclrtDestroyStream(waiting), ACL_SUCCESS);
  EXPECT_TRUE(seen);
  other.join();
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

}  // namespace
}  // namespace ascend_test
