// Objections of strict mode that need events, host memory or NZ.
#include "capture_support.h"

namespace ascend_test::strict_streams_tests {
namespace {

using Floats = std::vector<float>;

class StrictStreamsTest : public TwinTest {
 protected:
  static std::uint64_t objections() { return ascend_twin_count(ASCEND_TWIN_OBJECTIONS); }
};

aclrtEvent new_event() {
  aclrtEvent event = nullptr;
  EXPECT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  return event;
}

TEST_F(StrictStreamsTest, AnEventOrdersTwoStreams) {
  for (const char* order : {"eager", "lazy", "4"}) {
    restart({{"STRICT", "status"}, {"ORDER", order}});
    const OwnStream a;
    const OwnStream b;
    const OwnStream c;
    const aclrtEvent event = new_event();
    Tensor<float> sum(ACL_FLOAT, {1}, {1});
    EXPECT_EQ(add_to(sum.get(), sum.get(), 1, a.get()), ACL_SUCCESS);
    EXPECT_EQ(aclrtRecordEvent(event, a.get()), ACL_SUCCESS);
    EXPECT_EQ(aclrtStreamWaitEvent(b.get(), event), ACL_SUCCESS);
    EXPECT_EQ(add_to(sum.get(), sum.get(), 1, b.get()), ACL_SUCCESS);
    // By way of the second stream.
    EXPECT_EQ(aclrtRecordEvent(event, b.get()), ACL_SUCCESS);
    EXPECT_EQ(aclrtStreamWaitEvent(c.get(), event), ACL_SUCCESS);
    EXPECT_EQ(add_to(sum.get(), sum.get(), 1, c.get()), ACL_SUCCESS);
    EXPECT_EQ(sync(c.get()), ACL_SUCCESS);
    EXPECT_EQ(sum.values(), (Floats{8}));
    EXPECT_EQ(objections(), 0U) << ascend_twin_last_objection();
    EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  }
}

TEST_F(StrictStreamsTest, WorkAfterTheRecordIsNotOrdered) {
  restart({{"STRICT", "status"}, {"ORDER", "lazy"}});
  const OwnStream a;
  const OwnStream b;
  const aclrtEvent event = new_event();
  Tensor<float> sum(ACL_FLOAT, {1}, {1});
  EXPECT_EQ(aclrtRecordEvent(event, a.get()), ACL_SUCCESS);
  EXPECT_EQ(add_to(sum.get(), sum.get(), 1, a.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(b.get(), event), ACL_SUCCESS);
  EXPECT_EQ(add_to(sum.get(), sum.get(), 1, b.get()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("without an event between them"));
  EXPECT_EQ(sync(a.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(b.get()), ACL_SUCCESS);
  EXPECT_EQ(sum.values(), (Floats{2}));
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(StrictStreamsTest, HostCopyOfBytesThatQueuedWorkUses) {
  restart({{"STRICT", "status"}, {"ORDER", "lazy"}});
  Tensor<float> sum(ACL_FLOAT, {1}, {1});
  Tensor<float> one(ACL_FLOAT, {1}, {1});
  ASSERT_EQ(add_to(sum.get(), one.get(), 1, nullptr), ACL_SUCCESS);
  float value = 3;
  EXPECT_EQ(aclrtMemcpy(&value, 4, sum.address(), 4, ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("aclrtMemcpy of memory that queued work uses"));
  EXPECT_EQ(aclrtMemcpy(one.address(), 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemset(sum.address(), 4, 0, 4), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("aclrtMemset"));
  EXPECT_EQ(objections(), 3U);
  // Both read.
  EXPECT_EQ(aclrtMemcpy(&value, 4, one.address(), 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(&value, 4, sum.address(), 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(value, 2);
  EXPECT_EQ(objections(), 3U);
}

TEST_F(StrictStreamsTest, HostChangesTheMemoryOfAQueuedCopy) {
  for (const char* strict : {"status", "off"}) {
    restart({{"STRICT", strict}, {"ORDER", "lazy"}});
    const bool objects = std::string(strict) == "status";
    Tensor<float> tensor(ACL_FLOAT, {1}, {1});
    void* pinned = nullptr;
    ASSERT_EQ(aclrtMallocHost(&pinned, 4), ACL_SUCCESS);
    float value = 5;
    std::memcpy(pinned, &value, 4);
    ASSERT_EQ(aclrtMemcpyAsync(tensor.address(), 4, pinned, 4, ACL_MEMCPY_HOST_TO_DEVICE, nullptr),
              ACL_SUCCESS);
    value = 6;
    std::memcpy(pinned, &value, 4);
    EXPECT_EQ(sync(nullptr), objects ? ACL_ERROR_RT_AICORE_EXCEPTION : ACL_SUCCESS);
    EXPECT_EQ(tensor.values(), (Floats{objects ? 1.0F : 6.0F}));
    EXPECT_EQ(objections(), objects ? 1U : 0U);
    EXPECT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
  }
}

TEST_F(StrictStreamsTest, CopyOfWhatAnEarlierCopyBringsIsNoChange) {
  restart({{"STRICT", "status"}, {"ORDER", "lazy"}});
  Tensor<float> from(ACL_FLOAT, {1}, {4});
  Tensor<float> to(ACL_FLOAT, {1}, {1});
  void* pinned = nullptr;
  ASSERT_EQ(aclrtMallocHost(&pinned, 4), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(pinned, 4, from.address(), 4, ACL_MEMCPY_DEVICE_TO_HOST, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(to.address(), 4, pinned, 4, ACL_MEMCPY_HOST_TO_DEVICE, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(to.values(), (Floats{4}));
  EXPECT_EQ(objections(), 0U) << ascend_twin_last_objection();
  EXPECT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
}

TEST_F(StrictStreamsTest, CapturedStreamsUseTheSameBytesUnordered) {
  restart({{"STRICT", "status"}});
  const OwnStream a;
  const OwnStream b;
  const aclrtEvent fork = new_event();
  Tensor<float> sum(ACL_FLOAT, {1}, {1});
  ASSERT_EQ(aclmdlRICaptureBegin(a.get(), ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(fork, a.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(b.get(), fork), ACL_SUCCESS);
  EXPECT_EQ(add_to(sum.get(), sum.get(), 1, a.get()), ACL_SUCCESS);
  EXPECT_EQ(add_to(sum.get(), sum.get(), 1, b.get()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("two captured streams use the same bytes"));
  aclmdlRI model = nullptr;
  EXPECT_EQ(aclmdlRICaptureEnd(a.get(), &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(aclrtDestroyEvent(fork), ACL_SUCCESS);
}

TEST_F(StrictStreamsTest, LastFinaliseWhileOthersUseTheLibrary) {
  for (const char* strict : {"status", "off"}) {
    restart({{"STRICT", strict}});
    EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
    if (std::string(strict) == "status") {
      EXPECT_NE(aclFinalize(), ACL_SUCCESS);
      EXPECT_TRUE(objected_to("others use the library"));
    } else {
      EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
    }
  }
}

}  // namespace
}  // namespace ascend_test::strict_streams_tests
