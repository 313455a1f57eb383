// Errors of calls that break a capture, by their codes.
#include <thread>

#include "capture.h"

namespace cuda_capture_test {
namespace {

// 900: calls that a capture would miss.

TEST_F(CaptureTest, UnsafeCallsInvalidateAGlobalCapture) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  CUdeviceptr address = 0;
  void* host = nullptr;
  std::uint32_t word = 0;
  const auto calls = {
      +[](CUdeviceptr* p, void**, std::uint32_t*, CUdeviceptr) { return cuMemAlloc(p, 16); },
      +[](CUdeviceptr*, void**, std::uint32_t*, CUdeviceptr x_) { return cuMemFree(x_); },
      +[](CUdeviceptr*, void** h, std::uint32_t*, CUdeviceptr) { return cuMemHostAlloc(h, 16, 0); },
      +[](CUdeviceptr*, void**, std::uint32_t* w, CUdeviceptr x_) {
        return cuMemcpyDtoH(w, x_, 4);
      },
      +[](CUdeviceptr*, void**, std::uint32_t*, CUdeviceptr x_) { return cuMemsetD32(x_, 1, 1); },
      +[](CUdeviceptr*, void**, std::uint32_t*, CUdeviceptr) { return cuCtxSynchronize(); },
  };
  int number = 0;
  for (const auto unsafe : calls) {
    begin(a_);
    EXPECT_EQ(unsafe(&address, &host, &word, x.address), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        << number;
    EXPECT_EQ(status(a_), CU_STREAM_CAPTURE_STATUS_INVALIDATED) << number;
    EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) << number;
    ++number;
  }
  EXPECT_EQ(x.read(), Words(4, 1));
}

TEST_F(CaptureTest, ARelaxedCaptureAllowsUnsafeCalls) {
  begin(a_, CU_STREAM_CAPTURE_MODE_RELAXED);
  CUdeviceptr address = 0;
  TWIN_OK(cuMemAlloc(&address, 16));
  TWIN_OK(cuMemFree(address));
  TWIN_OK(cuStreamSynchronize(b_));
  EXPECT_EQ(status(a_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
      << "a stream of the context captures";
  EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureTest, TheThreadsModeDecidesTogetherWithTheCaptures) {
  struct Row {
    CUstreamCaptureMode capture, thread;
    bool same_thread;
    CUresult expected;
  };
  constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
  constexpr auto kLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
  constexpr auto kNo = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const Row rows[] = {
      {kGlobal, kGlobal, true, kNo},
      {kGlobal, kLocal, true, kNo},
      {kGlobal, kRelaxed, true, CUDA_SUCCESS},
      {kLocal, kGlobal, true, kNo},
      {kLocal, kLocal, true, kNo},
      {kLocal, kRelaxed, true, CUDA_SUCCESS},
      {kRelaxed, kGlobal, true, CUDA_SUCCESS},
      {kRelaxed, kLocal, true, CUDA_SUCCESS},
      {kGlobal, kGlobal, false, kNo},
      {kGlobal, kLocal, false, CUDA_SUCCESS},
      {kGlobal, kRelaxed, false, CUDA_SUCCESS},
      {kLocal, kGlobal, false, CUDA_SUCCESS},
      {kLocal, kLocal, false, CUDA_SUCCESS},
      {kRelaxed, kGlobal, false, CUDA_SUCCESS},
  };
  for (const Row& row : rows) {
    begin(a_, row.capture);
    const auto call = [&] {
      CUstreamCaptureMode mode = row.thread;
      TWIN_OK(cuThreadExchangeStreamCaptureMode(&mode));
      EXPECT_EQ(mode, kGlobal) << "the mode of a thread at first";
      CUdeviceptr address = 0;
      EXPECT_EQ(cuMemAlloc(&address, 16), row.expected)
          << row.capture << row.thread << row.same_thread;
      if (address != 0) {
        CUstreamCaptureMode relaxed = kRelaxed;
        TWIN_OK(cuThreadExchangeStreamCaptureMode(&relaxed));
        TWIN_OK(cuMemFree(address));
      }
      mode = kGlobal;
      TWIN_OK(cuThreadExchangeStreamCaptureMode(&mode));
    };
    if (row.same_thread) {
      call();
    } else {
      std::thread([&] {
        TWIN_OK(cuCtxSetCurrent(gpu_.context));
        call();
      }).join();
    }
    const bool broken = row.expected != CUDA_SUCCESS;
    EXPECT_EQ(status(a_),
              broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE);
    if (broken) {
      EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    } else {
      TWIN_OK(cuGraphDestroy(end(a_)));
    }
  }
  CUstreamCaptureMode wrong = static_cast<CUstreamCaptureMode>(3);
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&wrong), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CaptureTest, ACapturingStreamCannotBeWaitedFor) {
  for (const auto call : {cuStreamSynchronize, cuStreamQuery}) {
    begin(a_, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(call(a_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(call(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
}

// 901

TEST_F(CaptureTest, NothingEntersAnInvalidCapture) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  begin(a_);
  TWIN_OK(cuEventRecord(event_, a_));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(scale(a_, x.address, 1, 1), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuEventRecord(event_, a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamWaitEvent(a_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamWaitEvent(b_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamUpdateCaptureDependencies(a_, nullptr, nullptr, 0, 0),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CUgraph graph = nullptr;
  CUstreamCaptureStatus found{};
  TWIN_OK(cuStreamGetCaptureInfo_v2(a_, &found, nullptr, &graph, nullptr, nullptr));
  EXPECT_EQ(found, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  TWIN_OK(scale(a_, x.address, 1, 1));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(x.read(), Words(4, 2)) << "the stream is usable again";
}

// 902

TEST_F(CaptureTest, TwoCapturesCannotMerge) {
  begin(a_, CU_STREAM_CAPTURE_MODE_RELAXED);
  begin(b_, CU_STREAM_CAPTURE_MODE_RELAXED);
  TWIN_OK(cuEventRecord(event_, a_));
  EXPECT_EQ(cuStreamWaitEvent(b_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end_badly(b_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

// 903

TEST_F(CaptureTest, OnlyTheStreamThatBeganACaptureEndsIt) {
  begin(a_);
  TWIN_OK(cuEventRecord(event_, a_));
  TWIN_OK(cuStreamWaitEvent(b_, event_, 0));
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(b_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(graph, nullptr);
  TWIN_OK(cuGraphDestroy(end(a_)));
}

// 904

TEST_F(CaptureTest, AForkMustBeJoined) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  begin(a_);
  TWIN_OK(cuEventRecord(event_, a_));
  TWIN_OK(cuStreamWaitEvent(b_, event_, 0));
  TWIN_OK(scale(b_, x.address, 1, 1));
  EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(status(b_), CU_STREAM_CAPTURE_STATUS_NONE);
  // Work after the event that the join waited for.
  begin(a_);
  TWIN_OK(cuEventRecord(event_, a_));
  TWIN_OK(cuStreamWaitEvent(b_, event_, 0));
  TWIN_OK(scale(b_, x.address, 1, 1));
  TWIN_OK(cuEventRecord(second_event_, b_));
  TWIN_OK(scale(b_, x.address, 1, 1));
  TWIN_OK(cuStreamWaitEvent(a_, second_event_, 0));
  EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_GRAPHS), 0u);
}

// 905

TEST_F(CaptureTest, ACaptureWaitsForEventsOfItsOwnOnly) {
  TWIN_OK(cuEventRecord(event_, b_));
  begin(a_);
  EXPECT_EQ(cuStreamWaitEvent(a_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  // An event of a capture that has ended is of no use to others.
  begin(a_);
  TWIN_OK(cuEventRecord(event_, a_));
  TWIN_OK(cuGraphDestroy(end(a_)));
  EXPECT_EQ(cuStreamWaitEvent(b_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  begin(a_);
  EXPECT_EQ(cuStreamWaitEvent(a_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  TWIN_OK(cuEventRecord(event_, b_));
  TWIN_OK(cuStreamWaitEvent(a_, event_, 0));
  TWIN_OK(cuStreamSynchronize(a_));
}

// 906

TEST_F(CaptureTest, TheLegacyStreamIsUnusableWhileABlockingStreamCaptures) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  begin(blocking_, CU_STREAM_CAPTURE_MODE_RELAXED);
  CUstreamCaptureStatus found{};
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &found), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(cuStreamGetCaptureInfo_v2(nullptr, &found, nullptr, nullptr, nullptr, nullptr),
            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(status(blocking_), CU_STREAM_CAPTURE_STATUS_ACTIVE) << "a question breaks nothing";
  EXPECT_EQ(scale(nullptr, x.address, 1, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(status(blocking_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(end_badly(blocking_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  const auto uses = {
      +[](CUevent, CUdeviceptr p) { return cuMemsetD32(p, 1, 1); },
      +[](CUevent, CUdeviceptr p) {
        std::uint32_t word = 0;
        return cuMemcpyDtoH(&word, p, 4);
      },
      +[](CUevent e, CUdeviceptr) { return cuEventRecord(e, nullptr); },
      +[](CUevent e, CUdeviceptr) { return cuStreamWaitEvent(nullptr, e, 0); },
      +[](CUevent, CUdeviceptr) { return cuStreamSynchronize(nullptr); },
      +[](CUevent, CUdeviceptr p) { return cuMemsetD32Async(p, 1, 1, CU_STREAM_LEGACY); },
  };
  int number = 0;
  for (const auto use : uses) {
    begin(blocking_, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(use(event_, x.address), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) << number++;
    EXPECT_EQ(end_badly(blocking_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  EXPECT_EQ(x.read(), Words(4, 1));
}

TEST_F(CaptureTest, TheLegacyStreamIsFreeWhileANonBlockingStreamCaptures) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  begin(a_, CU_STREAM_CAPTURE_MODE_RELAXED);
  TWIN_OK(scale(nullptr, x.address, 1, 1));
  TWIN_OK(cuStreamSynchronize(nullptr));
  // But it cannot take part.
  TWIN_OK(cuEventRecord(event_, a_));
  EXPECT_EQ(cuStreamWaitEvent(nullptr, event_, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(x.read(), Words(4, 2));
}

// 907

TEST_F(CaptureTest, ACapturedEventCannotBeAskedOrWaitedFor) {
  float milliseconds = 0;
  TWIN_OK(cuEventRecord(second_event_, b_));
  TWIN_OK(cuStreamSynchronize(b_));
  for (int i = 0; i < 3; ++i) {
    begin(a_, CU_STREAM_CAPTURE_MODE_RELAXED);
    TWIN_OK(cuEventRecord(event_, a_));
    const CUresult code = i == 0   ? cuEventQuery(event_)
                          : i == 1 ? cuEventSynchronize(event_)
                                   : cuEventElapsedTime(&milliseconds, second_event_, event_);
    EXPECT_EQ(code, CUDA_ERROR_CAPTURED_EVENT) << i;
    EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) << i;
    EXPECT_EQ(cuEventQuery(event_), CUDA_ERROR_CAPTURED_EVENT) << "until it is recorded again";
  }
  TWIN_OK(cuEventRecord(event_, b_));
  TWIN_OK(cuEventSynchronize(event_));
}

// 908

TEST_F(CaptureTest, ThreadThatBeganACaptureEndsItUnlessItIsRelaxed) {
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                          CU_STREAM_CAPTURE_MODE_RELAXED}) {
    begin(a_, mode);
    const bool relaxed = mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    std::thread([&] {
      TWIN_OK(cuCtxSetCurrent(gpu_.context));
      CUgraph graph = nullptr;
      EXPECT_EQ(cuStreamEndCapture(a_, &graph),
                relaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
      if (relaxed) TWIN_OK(cuGraphDestroy(graph));
    }).join();
    if (!relaxed) TWIN_OK(cuGraphDestroy(end(a_)));
  }
}

}  // namespace
}  // namespace cuda_capture_test
