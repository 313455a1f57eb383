// What ends, and what still waits for it: streams, contexts, the library, a lost device.
#include <atomic>
#include <chrono>
#include <thread>

#include "runtime_support.h"

namespace ascend_test::runtime_endings_tests {
namespace {

class RuntimeEndings : public TwinTest {};
class RuntimeEndingsThread : public TwinTest {};

aclrtEvent event_with_sync() {
  aclrtEvent event = nullptr;
  EXPECT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  return event;
}

/// A host function in the first stream that ends later, an event behind it, and a host function of
/// the other stream behind a wait for the event.
struct Gate {
  Gate(aclrtStream first, aclrtStream second, aclrtEvent event) {
    const auto launch = NEWER(aclrtLaunchHostFunc);
    EXPECT_EQ(launch(first, pass, this), ACL_SUCCESS);
    EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
    EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
    EXPECT_EQ(launch(second, look, this), ACL_SUCCESS);
    opener = std::thread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      is_open = true;
    });
  }
  ~Gate() { opener.join(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  static void pass(void* gate) {
    while (!static_cast<Gate*>(gate)->is_open) std::this_thread::yield();
  }
  static void look(void* gate) {
    static_cast<Gate*>(gate)->was_open = static_cast<Gate*>(gate)->is_open.load();
  }
  std::atomic<bool> is_open{false}, was_open{false};
  std::thread opener;
};

TEST_F(RuntimeEndingsThread, TheEndOfAContextKeepsTheWaitsOfItsStreams) {
  aclrtContext home = nullptr, context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&home), ACL_SUCCESS);
  const OwnStream slow;
  const aclrtEvent event = event_with_sync();
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  aclrtStream waiting = nullptr;
  ASSERT_EQ(aclrtCreateStream(&waiting), ACL_SUCCESS);
  // The event and the first stream are of the other context, and so is their use.
  ASSERT_EQ(aclrtSetCurrentContext(home), ACL_SUCCESS);
  const auto launch = NEWER(aclrtLaunchHostFunc);
  static std::atomic<bool> is_open, was_open;
  is_open = was_open = false;
  ASSERT_EQ(launch(
                slow.get(),
                [](void*) {
                  while (!is_open) std::this_thread::yield();
                },
                nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, slow.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(waiting, event), ACL_SUCCESS);
  ASSERT_EQ(launch(
                waiting, [](void*) { was_open = is_open.load(); }, nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtSetCurrentContext(home), ACL_SUCCESS);
  std::thread opener([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    is_open = true;
  });
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  EXPECT_TRUE(was_open);
  opener.join();
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(RuntimeEndingsThread, TheLastResetKeepsTheWaitsOfItsStreams) {
  aclrtStream first = nullptr, second = nullptr;
  ASSERT_EQ(aclrtCreateStream(&first), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&second), ACL_SUCCESS);
  const Gate gate(first, second, event_with_sync());
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_TRUE(gate.was_open);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_STREAMS), 0U);
}

TEST_F(RuntimeEndings, ADestroyedStreamGivesUpAWaitForARecordThatNeverComes) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(RuntimeEndingsThread, AResetEndsAStreamThatAnotherThreadWaitsFor) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  static std::atomic<bool> is_open;
  is_open = false;
  ASSERT_EQ(NEWER(aclrtLaunchHostFunc)(
                stream,
                [](void*) {
                  while (!is_open) std::this_thread::yield();
                },
                nullptr),
            ACL_SUCCESS);
  std::atomic<aclError> code{-1};
  std::thread waiter([&] {
    EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
    code = aclrtSynchronizeStream(stream);
  });
  // It waits from this count on, and the stream cannot end before.
  while (ascend_twin_count(ASCEND_TWIN_STREAM_WAITS) == 0) std::this_thread::yield();
  std::thread opener([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    is_open = true;
  });
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  waiter.join();
  opener.join();
  EXPECT_EQ(code, ACL_SUCCESS);
}

TEST_F(RuntimeEndings, ADeviceTellsTheErrorOfOneStreamAtATime) {
  const OwnStream a, b;
  submit_failure(a.get());
  submit_failure(b.get());
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
}

TEST_F(RuntimeEndings, ALostDeviceGivesBackWhatItHas) {
  void *memory = nullptr, *pinned = nullptr, *base = nullptr;
  aclrtStream stream = nullptr;
  constexpr std::size_t kPage = 2 << 20;
  aclrtPhysicalMemProp wanted = {};
  wanted.memAttr = ACL_HBM_MEM_HUGE;
  wanted.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  aclrtDrvMemHandle physical = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocHost(&pinned, 64), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  const aclrtEvent event = event_with_sync();
  ASSERT_EQ(aclrtReserveMemAddress(&base, kPage, 0, nullptr, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocPhysical(&physical, kPage, &wanted, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(base, kPage, 0, physical, 0), ACL_SUCCESS);
  const aclmdlRI model = capture_of(
      stream, [&] { EXPECT_EQ(aclrtMemsetAsync(memory, 64, 1, 64, stream), ACL_SUCCESS); });
  set("FAIL_LOST", "1");
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_ERROR_RT_LOST_HEARTBEAT);
  EXPECT_EQ(aclrtFree(memory), ACL_ERROR_RT_LOST_HEARTBEAT);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_LOST_HEARTBEAT);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_ERROR_RT_LOST_HEARTBEAT);
  EXPECT_EQ(aclrtUnmapMem(base), ACL_ERROR_RT_LOST_HEARTBEAT);
  EXPECT_EQ(aclrtFreePhysical(physical), ACL_ERROR_RT_LOST_HEARTBEAT);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_ERROR_RT_LOST_HEARTBEAT);
  EXPECT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
  for (const auto left : {ASCEND_TWIN_LIVE_DEVICE_ALLOCATIONS, ASCEND_TWIN_LIVE_HOST_ALLOCATIONS,
                          ASCEND_TWIN_LIVE_EVENTS, ASCEND_TWIN_LIVE_PHYSICAL_HANDLES,
                          ASCEND_TWIN_LIVE_RESERVED_RANGES, ASCEND_TWIN_LIVE_MODELS})
    EXPECT_EQ(ascend_twin_count_live(left), 0U) << left;
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_STREAMS), 1U);  // the default one
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_STREAMS), 0U);
}

/// What a host function calls, and the codes.
struct Inside {
  aclrtContext context = nullptr;
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  aclError entered = -1;
  std::vector<aclError> codes;
};
void call_back_in(void* data) {
  auto& inside = *static_cast<Inside*>(data);
  inside.entered = aclrtSetCurrentContext(inside.context);
  inside.codes = {aclInit(nullptr),
                  aclFinalize(),
                  NEWER(aclFinalizeReference)(nullptr),
                  aclrtResetDevice(0),
                  aclrtResetDeviceForce(0),
                  aclrtDestroyContext(inside.context)};
  if (inside.entered != ACL_SUCCESS) return;
  inside.codes.insert(inside.codes.end(),
                      {aclrtSynchronizeStream(inside.stream), aclrtSynchronizeDevice(),
                       aclrtSynchronizeEvent(inside.event), aclrtDestroyStream(inside.stream)});
}

TEST_F(RuntimeEndingsThread, AHostFunctionNeitherWaitsForStreamsNorEndsThem) {
  for (const char* strict : {"off", "status"}) {
    SCOPED_TRACE(strict);
    restart({{"STRICT", strict}});
    Inside inside;
    ASSERT_EQ(aclrtCreateContext(&inside.context, 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&inside.stream), ACL_SUCCESS);
    inside.event = event_with_sync();
    ASSERT_EQ(aclrtRecordEvent(inside.event, inside.stream), ACL_SUCCESS);
    ASSERT_EQ(NEWER(aclrtLaunchHostFunc)(inside.stream, call_back_in, &inside), ACL_SUCCESS);
    EXPECT_EQ(sync(inside.stream), ACL_SUCCESS);
    const bool is_off = std::string(strict) == "off";
    EXPECT_EQ(inside.entered, is_off ? ACL_SUCCESS : ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_EQ(inside.codes, std::vector<aclError>(is_off ? 10 : 6, ACL_ERROR_RT_PARAM_INVALID));
    EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_OBJECTIONS), is_off ? 0U : 7U);
  }
}

TEST_F(RuntimeEndingsThread, SeveralThreadsInitialiseAndFinalise) {
  const auto use = [] {
    for (int i = 0; i < 100; ++i) {
      const aclError first = aclInit(nullptr);
      EXPECT_TRUE(first == ACL_SUCCESS || first == ACL_ERROR_REPEAT_INITIALIZE) << first;
      if (aclrtSetDevice(0) == ACL_SUCCESS) aclrtSynchronizeStream(nullptr);
      const aclError last = aclFinalize();
      EXPECT_TRUE(last == ACL_SUCCESS || last == ACL_ERROR_REPEAT_FINALIZE) << last;
    }
  };
  std::thread a(use), b(use), c(use);
  a.join();
  b.join();
  c.join();
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_STREAMS), 0U);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
}

TEST_F(RuntimeEndingsThread, CapturesOfOneContextLeaveItsDefaultStream) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  const auto capture = [context] {
    ASSERT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
    const OwnStream stream;
    for (int i = 0; i < 200; ++i) {
      aclmdlRI model = nullptr;
      ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), ACL_MODEL_RI_CAPTURE_MODE_RELAXED), ACL_SUCCESS);
      ASSERT_EQ(aclmdlRICaptureEnd(stream.get(), &model), ACL_SUCCESS);
      ASSERT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
    }
  };
  std::thread a(capture), b(capture), c(capture);
  a.join();
  b.join();
  c.join();
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
}

TEST_F(RuntimeEndings, NamesOfChipsAreThoseOfTheVendor) {
  for (const char* name :
       {"Ascend910B1",    "Ascend910B2",    "Ascend910B2C",   "Ascend910B3",      "Ascend910B4",
        "Ascend910B4-1",  "Ascend910_9362", "Ascend910_9372", "Ascend910_9381",   "Ascend910_9382",
        "Ascend910_9391", "Ascend910_9392", "Ascend310P1",    "Ascend310P3",      "Ascend310P5",
        "Ascend310P7",    "Ascend310B1",    "Ascend310B2",    "Ascend310B3",      "Ascend310B4",
        "Ascend910A",     "Ascend910ProA",  "Ascend910ProB",  "Ascend910PremiumA"}) {
    set("SOC", name);
    EXPECT_STREQ(aclrtGetSocName(), name);
  }
}

TEST_F(RuntimeEndings, A310BHas32GiB) {
  restart({{"PROFILE", "310b"}});
  std::size_t free = 0, total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
  EXPECT_EQ(total, std::size_t{34'359'738'368});
}

TEST_F(RuntimeEndings, ATaskThatHangsEndsWithTheSetting) {
  OwnStream stream;
  Buffer target(4);
  set("FAIL_HANG", "2");
  ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 1, 4, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream.get(), 10000), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 2, 4, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream.get(), 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  set("FAIL_HANG", "0");
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream.get(), 10000), ACL_SUCCESS);
  unsigned char bytes[4] = {};
  ASSERT_EQ(aclrtMemcpy(bytes, 4, target.address(), 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(bytes[3], 2);
}

TEST_F(RuntimeEndings, AStreamIsDestroyedUnderATaskThatHangs) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  Buffer target(4);
  set("FAIL_HANG", "1+");
  ASSERT_EQ(aclrtMemsetAsync(target.address(), 4, 1, 4, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(RuntimeEndings, CodesOfFaultsAreFailuresAndANullFunctionHasNoCalls) {
  EXPECT_FALSE(ascend_twin_set("ASCEND_TWIN_LATE_CODE", "0"));
  EXPECT_FALSE(ascend_twin_set("ASCEND_TWIN_FIRST_PHASE_CODE", "0"));
  EXPECT_TRUE(ascend_twin_set("ASCEND_TWIN_LATE_CODE", "507018"));
  EXPECT_EQ(ascend_twin_calls(nullptr), 0U);
}

}  // namespace
}  // namespace ascend_test::runtime_endings_tests
