// Captures of several streams, and calls of other threads during a capture.
#include <thread>

#include "capture_support.h"

namespace ascend_test::capture_streams_tests {
namespace {

constexpr auto kGlobal = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
constexpr auto kThreadLocal = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
constexpr auto kRelaxed = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
using Floats = std::vector<float>;

class OwnEvent {
 public:
  OwnEvent() { EXPECT_EQ(aclrtCreateEventExWithFlag(&event_, ACL_EVENT_SYNC), ACL_SUCCESS); }
  ~OwnEvent() { aclrtDestroyEvent(event_); }
  OwnEvent(const OwnEvent&) = delete;
  OwnEvent& operator=(const OwnEvent&) = delete;
  aclrtEvent get() const { return event_; }

 private:
  aclrtEvent event_ = nullptr;
};

class CaptureStreamsTest : public TwinTest {
 protected:
  aclmdlRI model_ = nullptr;
};

/// The second stream's work is between two additions of the first.
void submit_fork(const OwnStream& first, const OwnStream& second, const OwnEvent& fork,
                 const OwnEvent& join, aclTensor* sum, aclTensor* one) {
  EXPECT_EQ(add_to(sum, one, 1, first.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(fork.get(), first.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second.get(), fork.get()), ACL_SUCCESS);
  EXPECT_EQ(add_to(sum, one, 10, second.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(join.get(), second.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(first.get(), join.get()), ACL_SUCCESS);
  EXPECT_EQ(add_to(sum, one, 100, first.get()), ACL_SUCCESS);
}

TEST_F(CaptureStreamsTest, StreamJoinsByAnEventAndIsJoinedBack) {
  for (const char* strict : {"off", "status"}) {
    restart({{"STRICT", strict}});
    const OwnStream first;
    const OwnStream second;
    const OwnEvent fork;
    const OwnEvent join;
    Tensor<float> sum(ACL_FLOAT, {1}, {0});
    Tensor<float> one(ACL_FLOAT, {1}, {1});
    model_ = capture_of(first.get(),
                        [&] { submit_fork(first, second, fork, join, sum.get(), one.get()); });
    EXPECT_EQ(sum.values(), (Floats{0}));
    // The streams execute again.
    EXPECT_EQ(sync(second.get()), ACL_SUCCESS);
    EXPECT_EQ(aclmdlRIExecuteAsync(model_, first.get()), ACL_SUCCESS);
    EXPECT_EQ(sync(first.get()), ACL_SUCCESS);
    EXPECT_EQ(sum.values(), (Floats{111}));
    EXPECT_EQ(aclmdlRIDestroy(model_), ACL_SUCCESS);
    EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_OBJECTIONS), 0U) << ascend_twin_last_objection();
  }
}

TEST_F(CaptureStreamsTest, EventsAreUsableAfterACapture) {
  const OwnStream first;
  const OwnStream second;
  const OwnEvent fork;
  const OwnEvent join;
  Tensor<float> sum(ACL_FLOAT, {1}, {0});
  Tensor<float> one(ACL_FLOAT, {1}, {1});
  model_ = capture_of(first.get(),
                      [&] { submit_fork(first, second, fork, join, sum.get(), one.get()); });
  submit_fork(first, second, fork, join, sum.get(), one.get());
  EXPECT_EQ(aclrtSynchronizeEvent(join.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(first.get()), ACL_SUCCESS);
  EXPECT_EQ(sum.values(), (Floats{111}));
  EXPECT_EQ(aclmdlRIDestroy(model_), ACL_SUCCESS);
}

TEST_F(CaptureStreamsTest, StreamThatIsNotJoinedBackEndsTheCapture) {
  const OwnStream first;
  const OwnStream second;
  const OwnEvent fork;
  Tensor<float> sum(ACL_FLOAT, {1}, {0});
  ASSERT_EQ(aclmdlRICaptureBegin(first.get(), kGlobal), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(fork.get(), first.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second.get(), fork.get()), ACL_SUCCESS);
  EXPECT_EQ(add_to(sum.get(), sum.get(), 1, second.get()), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureEnd(second.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(aclmdlRICaptureEnd(first.get(), &model_), ACL_ERROR_RT_STREAM_UNJOINED);
  EXPECT_EQ(model_, nullptr);
  EXPECT_EQ(sync(second.get()), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_MODELS), 0U);
}

TEST_F(CaptureStreamsTest, WorkAfterTheJoinIsNotJoined) {
  const OwnStream first;
  const OwnStream second;
  const OwnEvent fork;
  const OwnEvent join;
  Tensor<float> sum(ACL_FLOAT, {1}, {0});
  ASSERT_EQ(aclmdlRICaptureBegin(first.get(), kGlobal), ACL_SUCCESS);
  submit_fork(first, second, fork, join, sum.get(), sum.get());
  EXPECT_EQ(add_to(sum.get(), sum.get(), 1, second.get()), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureEnd(first.get(), &model_), ACL_ERROR_RT_STREAM_UNJOINED);
}

TEST_F(CaptureStreamsTest, WaitForARecordOutsideInvalidates) {
  const OwnStream first;
  const OwnStream second;
  const OwnEvent event;
  EXPECT_EQ(aclrtRecordEvent(event.get(), second.get()), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRICaptureBegin(first.get(), kGlobal), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(first.get(), event.get()), ACL_ERROR_RT_CAPTURE_DEPENDENCY);
  EXPECT_EQ(aclmdlRICaptureEnd(first.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureStreamsTest, TwoCapturesCannotMerge) {
  const OwnStream first;
  const OwnStream second;
  const OwnEvent event;
  ASSERT_EQ(aclmdlRICaptureBegin(first.get(), kRelaxed), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRICaptureBegin(second.get(), kRelaxed), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event.get(), first.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second.get(), event.get()), ACL_ERROR_RT_STREAM_CAPTURE_CONFLICT);
  EXPECT_EQ(aclmdlRICaptureEnd(second.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(aclmdlRICaptureEnd(first.get(), &model_), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(model_), ACL_SUCCESS);
}

TEST_F(CaptureStreamsTest, DefaultStreamCannotJoin) {
  const OwnStream first;
  const OwnEvent event;
  ASSERT_EQ(aclmdlRICaptureBegin(first.get(), kRelaxed), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event.get(), first.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, event.get()), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(aclmdlRICaptureEnd(first.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureStreamsTest, EventsOfTheOldModesInvalidate) {
  const OwnStream first;
  aclrtEvent old = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&old, ACL_EVENT_SYNC), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRICaptureBegin(first.get(), kGlobal), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(old, first.get()), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclmdlRICaptureEnd(first.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(aclrtDestroyEvent(old), ACL_SUCCESS);
}

TEST_F(CaptureStreamsTest, CapturedEventCannotBeWaitedForByTheHost) {
  const OwnStream first;
  const OwnEvent event;
  ASSERT_EQ(aclmdlRICaptureBegin(first.get(), kGlobal), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event.get(), first.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_ERROR_RT_EVENT_CAPTURED);
  EXPECT_EQ(aclmdlRICaptureEnd(first.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureStreamsTest, CopiesOfPageableMemoryInvalidate) {
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  const float value = 2;
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kRelaxed), ACL_SUCCESS);
  EXPECT_EQ(
      aclrtMemcpyAsync(tensor.address(), 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream.get()),
      ACL_ERROR_RT_CAPTURE_BLOCK_ASYNC);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureStreamsTest, CopiesOfPinnedMemoryAreReplayed) {
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  void* pinned = nullptr;
  ASSERT_EQ(aclrtMallocHost(&pinned, 4), ACL_SUCCESS);
  float value = 5;
  std::memcpy(pinned, &value, 4);
  model_ = capture_of(stream.get(), [&] {
    EXPECT_EQ(
        aclrtMemcpyAsync(tensor.address(), 4, pinned, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream.get()),
        ACL_SUCCESS);
  });
  EXPECT_EQ(tensor.values(), (Floats{1}));
  for (const float each : {6.0F, 7.0F}) {
    std::memcpy(pinned, &each, 4);
    EXPECT_EQ(aclmdlRIExecuteAsync(model_, stream.get()), ACL_SUCCESS);
    EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
    EXPECT_EQ(tensor.values(), (Floats{each}));
  }
  EXPECT_EQ(aclmdlRIDestroy(model_), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
}

TEST_F(CaptureStreamsTest, GlobalCaptureForbidsCopiesAndTheModeOfTheThreadAllowsThem) {
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  float value = 0;
  const auto copy = [&] {
    return aclrtMemcpy(&value, 4, tensor.address(), 4, ACL_MEMCPY_DEVICE_TO_HOST);
  };
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kGlobal), ACL_SUCCESS);
  aclmdlRICaptureMode mode = kRelaxed;
  EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(copy(), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(model_), ACL_SUCCESS);
  for (const auto forbidding : {kGlobal, kThreadLocal}) {
    ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), forbidding), ACL_SUCCESS);
    EXPECT_EQ(copy(), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  }
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kRelaxed), ACL_SUCCESS);
  EXPECT_EQ(copy(), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(model_), ACL_SUCCESS);
}

using CaptureStreamsThreadTest = CaptureStreamsTest;

TEST_F(CaptureStreamsThreadTest, OnlyAGlobalCaptureForbidsCopiesOfOtherThreads) {
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  const auto copy_elsewhere = [&] {
    aclError code = ACL_SUCCESS;
    std::thread([&] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      float value = 0;
      code = aclrtMemcpy(&value, 4, tensor.address(), 4, ACL_MEMCPY_DEVICE_TO_HOST);
    }).join();
    return code;
  };
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kThreadLocal), ACL_SUCCESS);
  EXPECT_EQ(copy_elsewhere(), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(model_), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kGlobal), ACL_SUCCESS);
  EXPECT_EQ(copy_elsewhere(), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureStreamsThreadTest, ThreadsCaptureAndReplayAtOnce) {
  std::vector<std::thread> threads;
  std::vector<float> sums(4);
  for (std::size_t number = 0; number < sums.size(); ++number) {
    threads.emplace_back([&sums, number] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      const OwnStream stream;
      Tensor<float> sum(ACL_FLOAT, {1}, {static_cast<float>(number)});
      Tensor<float> one(ACL_FLOAT, {1}, {1});
      ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kThreadLocal), ACL_SUCCESS);
      EXPECT_EQ(add_to(sum.get(), one.get(), 1, stream.get()), ACL_SUCCESS);
      aclmdlRI model = nullptr;
      ASSERT_EQ(aclmdlRICaptureEnd(stream.get(), &model), ACL_SUCCESS);
      for (int i = 0; i < 50; ++i)
        EXPECT_EQ(aclmdlRIExecuteAsync(model, stream.get()), ACL_SUCCESS);
      EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
      sums[number] = sum.values()[0];
      EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, (Floats{50, 51, 52, 53}));
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_MODELS), 0U);
}

}  // namespace
}  // namespace ascend_test::capture_streams_tests
