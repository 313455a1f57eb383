// Callbacks: of failures, and those that streams launch.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "runtime_support.h"

namespace ascend_test {
namespace {

using RuntimeCallbacks = TwinTest;
using RuntimeCallbacksThread = TwinTest;

/// What the last callback was told.
struct Told {
  std::atomic<int> calls{0};
  std::atomic<std::uint32_t> task{0}, stream{0}, thread{0}, device{0}, code{0};
};
Told told;

void tell(aclrtExceptionInfo* info) {
  told.task = aclrtGetTaskIdFromExceptionInfo(info);
  told.stream = aclrtGetStreamIdFromExceptionInfo(info);
  told.thread = aclrtGetThreadIdFromExceptionInfo(info);
  told.device = aclrtGetDeviceIdFromExceptionInfo(info);
  told.code = aclrtGetErrorCodeFromExceptionInfo(info);
  ++told.calls;
}
void tell_again(aclrtExceptionInfo* info) {
  tell(info);
}

TEST_F(RuntimeCallbacks, AFailureNamesItsTaskStreamThreadDeviceAndCode) {
  restart({{"DEVICES", "2"}});
  told.calls = 0;
  ASSERT_EQ(aclrtSetExceptionInfoCallback(tell), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  {
    OwnStream stream;
    Buffer target(4);
    ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 1, 4, stream.get()), ACL_SUCCESS);
    submit_failure(stream.get());
    std::uint32_t task = 0;
    std::int32_t id = 0;
    ASSERT_EQ(aclrtGetThreadLastTaskId(&task), ACL_SUCCESS);
    ASSERT_EQ(aclrtStreamGetId(stream.get(), &id), ACL_SUCCESS);
    EXPECT_EQ(sync(stream.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
    EXPECT_EQ(told.calls, 1);
    EXPECT_EQ(told.task, task);
    EXPECT_EQ(task, 2U);
    EXPECT_EQ(told.stream, static_cast<std::uint32_t>(id));
    EXPECT_EQ(told.thread, static_cast<std::uint32_t>(::syscall(SYS_gettid)));
    EXPECT_EQ(told.device, 1U);
    EXPECT_EQ(told.code, 507015U);
  }
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetExceptionInfoCallback(nullptr), ACL_SUCCESS);
  submit_failure(nullptr);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(told.calls, 1);
}

TEST_F(RuntimeCallbacks, SeveralCanBeRegistered) {
  const auto add = NEWER(aclrtExceptionInfoCallbackRegister);
  const auto remove = NEWER(aclrtExceptionInfoCallbackUnregister);
  told.calls = 0;
  EXPECT_EQ(add(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(remove(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(remove(tell), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(add(tell), ACL_SUCCESS);
  EXPECT_EQ(add(tell), ACL_SUCCESS);
  EXPECT_EQ(add(tell_again), ACL_SUCCESS);
  submit_failure(nullptr);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(told.calls, 2);
  EXPECT_EQ(remove(tell), ACL_SUCCESS);
  submit_failure(nullptr);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(told.calls, 3);
}

TEST_F(RuntimeCallbacks, InformationIsValidInsideAlone) {
  static std::atomic<aclrtExceptionInfo*> kept{nullptr};
  kept = nullptr;
  ASSERT_EQ(aclrtSetExceptionInfoCallback([](aclrtExceptionInfo* info) { kept = info; }),
            ACL_SUCCESS);
  submit_failure(nullptr);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  ASSERT_NE(kept.load(), nullptr);
  EXPECT_EQ(aclrtGetTaskIdFromExceptionInfo(kept), 0xFFFFFFFFU);
  EXPECT_EQ(aclrtGetErrorCodeFromExceptionInfo(nullptr), 0xFFFFFFFFU);
}

TEST_F(RuntimeCallbacks, TheyComeBeforeTheEndOfTheTaskOrNever) {
  told.calls = 0;
  ASSERT_EQ(aclrtSetExceptionInfoCallback(tell), ACL_SUCCESS);
  set("CALLBACK", "never");
  submit_failure(nullptr);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(told.calls, 0);
  set("CALLBACK", "after");
  submit_failure(nullptr);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  while (told.calls == 0) std::this_thread::yield();
  EXPECT_EQ(told.calls, 1);
}

TEST_F(RuntimeCallbacks, StrictModeObjectsToCallsFromInside) {
  static std::atomic<aclError> code{0};
  set("STRICT", "status");
  ASSERT_EQ(aclrtSetExceptionInfoCallback([](aclrtExceptionInfo*) { code = aclrtSetDevice(0); }),
            ACL_SUCCESS);
  set("FAIL_LATE", "1");
  Buffer target(4);
  ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 1, 4, nullptr), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(code, ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("callback"));
}

TEST_F(RuntimeCallbacks, ReportsCheckTheirArguments) {
  OwnStream stream;
  const auto self = static_cast<std::uint64_t>(::pthread_self());
  const aclrtCallback nothing = [](void*) {};
  EXPECT_EQ(aclrtProcessReport(0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtProcessReport(5), ACL_ERROR_RT_THREAD_SUBSCRIBE);
  EXPECT_EQ(aclrtLaunchCallback(nullptr, nullptr, ACL_CALLBACK_BLOCK, stream.get()),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(
      aclrtLaunchCallback(nothing, nullptr, static_cast<aclrtCallbackBlockType>(2), stream.get()),
      ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_BLOCK, stream.get()),
            ACL_ERROR_RT_STREAM_SUBSCRIBE);
  EXPECT_EQ(aclrtUnSubscribeReport(self, stream.get()), ACL_ERROR_RT_STREAM_SUBSCRIBE);
  EXPECT_EQ(aclrtSubscribeReport(self, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSubscribeReport(self, stream.get()), ACL_ERROR_RT_STREAM_SUBSCRIBE);
  EXPECT_EQ(aclrtProcessReport(5), ACL_ERROR_RT_WAIT_TIMEOUT);
  EXPECT_EQ(aclrtUnSubscribeReport(self + 1, stream.get()), ACL_ERROR_RT_STREAM_SUBSCRIBE);
  EXPECT_EQ(aclrtUnSubscribeReport(self, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(NEWER(aclrtLaunchHostFunc)(stream.get(), nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST_F(RuntimeCallbacksThread, ASubscribedThreadRunsThemInTheStreamsTurn) {
  OwnStream stream;
  Pinned value(4);
  Buffer target(4);
  static std::atomic<int> seen{0};
  seen = 0;
  ASSERT_EQ(aclrtSubscribeReport(static_cast<std::uint64_t>(::pthread_self()), stream.get()),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 2, 4, stream.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(value.address(), 4, target.address(), 4, ACL_MEMCPY_DEVICE_TO_HOST,
                             stream.get()),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback(
                [](void* data) {
                  seen = *static_cast<std::int32_t*>(data);
                  *static_cast<std::int32_t*>(data) = 5;
                },
                value.address(), ACL_CALLBACK_BLOCK, stream.get()),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(target.address(), 4, value.address(), 4, ACL_MEMCPY_HOST_TO_DEVICE,
                             stream.get()),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(seen, 0x02020202);
  EXPECT_EQ(target.get<std::int32_t>()[0], 5);
  EXPECT_EQ(aclrtUnSubscribeReport(static_cast<std::uint64_t>(::pthread_self()), stream.get()),
            ACL_SUCCESS);
}

TEST_F(RuntimeCallbacksThread, AStreamDoesNotWaitForOneThatDoesNotBlock) {
  OwnStream stream;
  const auto self = static_cast<std::uint64_t>(::pthread_self());
  static std::atomic<int> calls{0};
  calls = 0;
  ASSERT_EQ(aclrtSubscribeReport(self, stream.get()), ACL_SUCCESS);
  ASSERT_EQ(
      aclrtLaunchCallback([](void*) { ++calls; }, nullptr, ACL_CALLBACK_NO_BLOCK, stream.get()),
      ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(aclrtProcessReport(1000), ACL_SUCCESS);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(aclrtUnSubscribeReport(self, stream.get()), ACL_SUCCESS);
}

TEST_F(RuntimeCallbacksThread, ABlockedStreamCanBeDestroyed) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSubscribeReport(static_cast<std::uint64_t>(::pthread_self()), stream),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback([](void*) {}, nullptr, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
}

TEST_F(RuntimeCallbacksThread, HostFunctionsNeedNoSubscription) {
  OwnStream stream;
  int value = 0;
  ASSERT_EQ(NEWER(aclrtLaunchHostFunc)(
                stream.get(), [](void* args) { *static_cast<int*>(args) = 3; }, &value),
            ACL_SUCCESS);
  ASSERT_EQ(sync(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(value, 3);
}

}  // namespace
}  // namespace ascend_test
