// Captures of one stream: recording, replay, and each code of a misuse.
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "capture_support.h"

namespace ascend_test::capture_tests {
namespace {

constexpr auto kGlobal = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
constexpr auto kThreadLocal = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
constexpr auto kRelaxed = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
using Floats = std::vector<float>;

class CaptureTest : public TwinTest {
 protected:
  aclmdlRI model_ = nullptr;
};

TEST_F(CaptureTest, RecordsWithoutExecutionAndReplays) {
  const OwnStream stream;
  Tensor<float> sum(ACL_FLOAT, {2}, {1, 2});
  Tensor<float> step(ACL_FLOAT, {2}, {10, 20});
  model_ = capture_of(stream.get(), [&] {
    EXPECT_EQ(add_to(sum.get(), step.get(), 1, stream.get()), ACL_SUCCESS);
    EXPECT_EQ(add_to(sum.get(), step.get(), 2, stream.get()), ACL_SUCCESS);
  });
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(sum.values(), (Floats{1, 2}));
  for (int replay = 0; replay < 3; ++replay)
    EXPECT_EQ(aclmdlRIExecuteAsync(model_, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(sum.values(), (Floats{1 + 3 * 30, 2 + 3 * 60}));
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_CAPTURES), 1U);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_REPLAYS), 3U);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_MODELS), 1U);
  EXPECT_EQ(aclmdlRIDestroy(model_), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_MODELS), 0U);
}

TEST_F(CaptureTest, ReplayTakesTheValuesThatMemoryHasThen) {
  const OwnStream stream;
  Tensor<float> sum(ACL_FLOAT, {1}, {0});
  Tensor<float> step(ACL_FLOAT, {1}, {1});
  model_ = capture_of(stream.get(), [&] { add_to(sum.get(), step.get(), 1, stream.get()); });
  const float later = 7;
  ASSERT_EQ(aclrtMemcpy(step.address(), 4, &later, 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(NEWER(aclmdlRIExecute)(model_, -1), ACL_SUCCESS);
  EXPECT_EQ(sum.values(), (Floats{7}));
  aclmdlRIDestroy(model_);
}

TEST_F(CaptureTest, RefusesToBeginWithoutAStreamOfItsOwn) {
  const OwnStream stream;
  EXPECT_EQ(aclmdlRICaptureBegin(nullptr, kGlobal), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlRICaptureBegin(stream.get(), static_cast<aclmdlRICaptureMode>(3)),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlRICaptureBegin(stream.get(), static_cast<aclmdlRICaptureMode>(-1)),
            ACL_ERROR_INVALID_PARAM);
  int other = 0;
  EXPECT_EQ(aclmdlRICaptureBegin(&other, kGlobal), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(CaptureTest, SecondBeginInvalidates) {
  const OwnStream stream;
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kGlobal), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureBegin(stream.get(), kGlobal), ACL_ERROR_RT_STREAM_CAPTURED);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(model_, nullptr);
}

TEST_F(CaptureTest, EndWithoutBeginAndBadPointers) {
  const OwnStream stream;
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
  EXPECT_EQ(aclmdlRICaptureEnd(nullptr, &model_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlRIExecuteAsync(nullptr, stream.get()), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlRIExecuteAsync(&model_, stream.get()), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclmdlRIDestroy(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlRIDestroy(&model_), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclmdlRIDebugPrint(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlRICaptureGetInfo(stream.get(), nullptr, &model_), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST_F(CaptureTest, SynchronisingACapturingStreamInvalidates) {
  const OwnStream stream;
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kRelaxed), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_ERROR_RT_STREAM_CAPTURED);
  aclmdlRICaptureStatus status{};
  EXPECT_EQ(aclmdlRICaptureGetInfo(stream.get(), &status, &model_), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  EXPECT_EQ(add_to(tensor.get(), tensor.get(), 1, stream.get()),
            ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  // The stream executes again.
  EXPECT_EQ(add_to(tensor.get(), tensor.get(), 1, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(tensor.values(), (Floats{2}));
}

TEST_F(CaptureTest, WorkOnTheDefaultStreamInvalidates) {
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kRelaxed), ACL_SUCCESS);
  EXPECT_EQ(add_to(tensor.get(), tensor.get(), 1, nullptr), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(add_to(tensor.get(), tensor.get(), 1, nullptr), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
}

TEST_F(CaptureTest, GetInfoTellsOfActiveCaptures) {
  const OwnStream stream;
  const OwnStream other;
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED;
  EXPECT_EQ(aclmdlRICaptureGetInfo(stream.get(), &status, &model_), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_EQ(model_, nullptr);
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kGlobal), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureGetInfo(stream.get(), &status, &model_), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  EXPECT_NE(model_, nullptr);
  EXPECT_EQ(aclmdlRICaptureGetInfo(other.get(), &status, &model_), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(model_), ACL_SUCCESS);
}

TEST_F(CaptureTest, ThreadModeIsExchanged) {
  aclmdlRICaptureMode mode = kRelaxed;
  EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, kGlobal);
  mode = kThreadLocal;
  EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, kRelaxed);
  mode = static_cast<aclmdlRICaptureMode>(9);
  EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(&mode), ACL_ERROR_INVALID_PARAM);
  mode = kGlobal;
  EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, kThreadLocal);
}

TEST_F(CaptureTest, A310BHasNone) {
  restart({{"PROFILE", "310b"}});
  const OwnStream stream;
  aclmdlRICaptureStatus status{};
  aclmdlRICaptureMode mode = kRelaxed;
  EXPECT_EQ(aclmdlRICaptureBegin(stream.get(), kGlobal), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclmdlRICaptureGetInfo(stream.get(), &status, &model_),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(&mode), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclmdlRIExecuteAsync(&mode, stream.get()), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclmdlRICaptureTaskGrpBegin(stream.get()), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

TEST_F(CaptureTest, A310PCapturesWithoutTaskGroups) {
  restart({{"PROFILE", "310p"}});
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  model_ = capture_of(stream.get(), [&] {
    EXPECT_EQ(aclmdlRICaptureTaskGrpBegin(stream.get()), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    add_to(tensor.get(), tensor.get(), 1, stream.get());
  });
  EXPECT_EQ(NEWER(aclmdlRIExecute)(model_, -1), ACL_SUCCESS);
  EXPECT_EQ(tensor.values(), (Floats{2}));
  aclmdlRIDestroy(model_);
}

TEST_F(CaptureTest, QueuedModelCannotBeDestroyed) {
  restart({{"ORDER", "lazy"}});
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  model_ = capture_of(stream.get(), [&] { add_to(tensor.get(), tensor.get(), 1, stream.get()); });
  ASSERT_EQ(aclmdlRIExecuteAsync(model_, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(model_), ACL_ERROR_RT_MODEL_RUNNING);
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(model_), ACL_SUCCESS);
}

TEST_F(CaptureTest, ReplayInACaptureInvalidates) {
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  const aclmdlRI inner =
      capture_of(stream.get(), [&] { add_to(tensor.get(), tensor.get(), 1, stream.get()); });
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kRelaxed), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIExecuteAsync(inner, stream.get()), ACL_ERROR_RT_STREAM_CAPTURED);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(aclmdlRIDestroy(inner), ACL_SUCCESS);
}

TEST_F(CaptureTest, ReplayOverFreedMemoryIsALateError) {
  const OwnStream stream;
  auto tensor = std::make_unique<Tensor<float>>(ACL_FLOAT, std::vector<std::int64_t>{1}, Floats{1});
  model_ = capture_of(stream.get(), [&] { add_to(tensor->get(), tensor->get(), 1, stream.get()); });
  tensor.reset();
  EXPECT_EQ(aclmdlRIExecuteAsync(model_, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
  aclmdlRIDestroy(model_);
}

TEST_F(CaptureTest, BlockingExecutionChecksItsTimeout) {
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  model_ = capture_of(stream.get(), [&] { add_to(tensor.get(), tensor.get(), 1, stream.get()); });
  EXPECT_EQ(NEWER(aclmdlRIExecute)(model_, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(NEWER(aclmdlRIExecute)(model_, -2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(NEWER(aclmdlRIExecute)(nullptr, -1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(tensor.values(), (Floats{1}));
  EXPECT_EQ(NEWER(aclmdlRIExecute)(model_, 60000), ACL_SUCCESS);
  EXPECT_EQ(tensor.values(), (Floats{2}));
  aclmdlRIDestroy(model_);
}

TEST_F(CaptureTest, AbortEndsQueuedReplays) {
  restart({{"ORDER", "lazy"}});
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  model_ = capture_of(stream.get(), [&] { add_to(tensor.get(), tensor.get(), 1, stream.get()); });
  ASSERT_EQ(aclmdlRIExecuteAsync(model_, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(NEWER(aclmdlRIAbort)(model_), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_ERROR_RT_MODEL_ABORT_NORMAL);
  EXPECT_EQ(tensor.values(), (Floats{1}));
  EXPECT_EQ(aclmdlRIExecuteAsync(model_, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(tensor.values(), (Floats{2}));
  EXPECT_EQ(NEWER(aclmdlRIAbort)(nullptr), ACL_ERROR_INVALID_PARAM);
  aclmdlRIDestroy(model_);
}

TEST_F(CaptureTest, PrintsItsTasks) {
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  model_ = capture_of(stream.get(), [&] {
    add_to(tensor.get(), tensor.get(), 1, stream.get());
    add_to(tensor.get(), tensor.get(), 1, stream.get());
  });
  testing::internal::CaptureStdout();
  EXPECT_EQ(aclmdlRIDebugPrint(model_), ACL_SUCCESS);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "captured model of 2 tasks, 1 streams\n  kernel: aclnnAdd\n  kernel: aclnnAdd\n");
  const std::string path = testing::TempDir() + "ascend_twin_model.json";
  EXPECT_EQ(NEWER(aclmdlRIDebugJsonPrint)(model_, path.c_str(), 0), ACL_SUCCESS);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(),
            "[\n  {\"kind\": \"kernel\", \"name\": \"aclnnAdd\"},\n"
            "  {\"kind\": \"kernel\", \"name\": \"aclnnAdd\"}\n]\n");
  std::remove(path.c_str());
  EXPECT_EQ(NEWER(aclmdlRIDebugJsonPrint)(model_, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(NEWER(aclmdlRIDebugJsonPrint)(model_, "/nowhere/model.json", 0),
            ACL_ERROR_INVALID_FILE);
  aclmdlRIDestroy(model_);
}

TEST_F(CaptureTest, EachFaultEndsInACode) {
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  set("FAIL_CAPTURE", "1");
  EXPECT_EQ(aclmdlRICaptureBegin(stream.get(), kGlobal), ACL_ERROR_RT_NO_STREAM_RESOURCE);
  set("FAIL_CAPTURE", "2");
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kGlobal), ACL_SUCCESS);
  EXPECT_EQ(add_to(tensor.get(), tensor.get(), 1, stream.get()), ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  set("FAIL_CAPTURE", "3");
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kGlobal), ACL_SUCCESS);
  EXPECT_EQ(add_to(tensor.get(), tensor.get(), 1, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_NO_NOTIFY_RESOURCE);
  EXPECT_EQ(model_, nullptr);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_MODELS), 0U);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_CAPTURES), 0U);
}

TEST_F(CaptureTest, ModelsTakeStreamsUntilNoneIsLeft) {
  restart({{"PROFILE", "310p"}});  // 1024 streams
  const OwnStream stream;
  std::vector<aclmdlRI> models;
  aclError code = ACL_SUCCESS;
  while (models.size() < 2000) {
    code = aclmdlRICaptureBegin(stream.get(), kRelaxed);
    if (code != ACL_SUCCESS) break;
    ASSERT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_SUCCESS);
    models.push_back(model_);
  }
  EXPECT_EQ(code, ACL_ERROR_RT_NO_STREAM_RESOURCE);
  EXPECT_LE(models.size(), 1024U);
  EXPECT_GE(models.size(), 1020U);
  ASSERT_EQ(aclmdlRIDestroy(models.back()), ACL_SUCCESS);
  models.pop_back();
  EXPECT_EQ(aclmdlRICaptureBegin(stream.get(), kRelaxed), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_SUCCESS);
  models.push_back(model_);
  for (const aclmdlRI model : models) EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
}

TEST_F(CaptureTest, ResetDropsCapturesAndModels) {
  const OwnStream stream;
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  model_ = capture_of(stream.get(), [&] { add_to(tensor.get(), tensor.get(), 1, stream.get()); });
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kGlobal), ACL_SUCCESS);
  restart({});
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_MODELS), 0U);
  const OwnStream another;
  EXPECT_EQ(aclmdlRIExecuteAsync(model_, another.get()), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclmdlRICaptureBegin(another.get(), kGlobal), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureEnd(another.get(), &model_), ACL_SUCCESS);
  aclmdlRIDestroy(model_);
}

TEST_F(CaptureTest, GroupsAreReplacedByUpdates) {
  const OwnStream stream;
  const OwnStream update;
  Tensor<float> sum(ACL_FLOAT, {1}, {0});
  Tensor<float> one(ACL_FLOAT, {1}, {1});
  aclrtTaskGrp group = nullptr;
  model_ = capture_of(stream.get(), [&] {
    add_to(sum.get(), one.get(), 1, stream.get());
    EXPECT_EQ(aclmdlRICaptureTaskGrpBegin(stream.get()), ACL_SUCCESS);
    add_to(sum.get(), one.get(), 10, stream.get());
    EXPECT_EQ(aclmdlRICaptureTaskGrpEnd(stream.get(), &group), ACL_SUCCESS);
  });
  EXPECT_EQ(NEWER(aclmdlRIExecute)(model_, -1), ACL_SUCCESS);
  EXPECT_EQ(sum.values(), (Floats{11}));
  ASSERT_EQ(aclmdlRICaptureTaskUpdateBegin(update.get(), group), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureTaskUpdateBegin(update.get(), group), ACL_ERROR_RT_TASK_GROUP_STATUS);
  add_to(sum.get(), one.get(), 100, update.get());
  EXPECT_EQ(aclmdlRICaptureTaskUpdateEnd(update.get()), ACL_SUCCESS);
  EXPECT_EQ(sum.values(), (Floats{11}));
  EXPECT_EQ(NEWER(aclmdlRIExecute)(model_, -1), ACL_SUCCESS);
  EXPECT_EQ(sum.values(), (Floats{112}));
  // Not as many tasks as the group has.
  ASSERT_EQ(aclmdlRICaptureTaskUpdateBegin(update.get(), group), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureTaskUpdateEnd(update.get()), ACL_ERROR_RT_MODEL_UPDATE_FAILED);
  EXPECT_EQ(aclmdlRICaptureTaskUpdateEnd(update.get()), ACL_ERROR_RT_TASK_GROUP_STATUS);
  aclmdlRIDestroy(model_);
  EXPECT_EQ(aclmdlRICaptureTaskUpdateBegin(update.get(), group), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(CaptureTest, GroupsMustMatch) {
  const OwnStream stream;
  aclrtTaskGrp group = nullptr;
  EXPECT_EQ(aclmdlRICaptureTaskGrpBegin(stream.get()), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
  EXPECT_EQ(aclmdlRICaptureTaskGrpBegin(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlRICaptureTaskGrpEnd(stream.get(), nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlRICaptureTaskUpdateBegin(stream.get(), nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlRICaptureTaskUpdateEnd(nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kRelaxed), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureTaskGrpEnd(stream.get(), &group), ACL_ERROR_RT_TASK_GROUP_STATUS);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kRelaxed), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureTaskGrpBegin(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureTaskGrpBegin(stream.get()), ACL_ERROR_RT_TASK_GROUP_STATUS);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kRelaxed), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureTaskGrpBegin(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_ERROR_RT_TASK_GROUP_STATUS);
}

using CaptureThreadTest = CaptureTest;

TEST_F(CaptureThreadTest, AnotherThreadEndsOnlyARelaxedCapture) {
  const OwnStream stream;
  const auto end_elsewhere = [&] {
    aclError code = ACL_SUCCESS;
    std::thread([&] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      code = aclmdlRICaptureEnd(stream.get(), &model_);
    }).join();
    return code;
  };
  for (const auto mode : {kGlobal, kThreadLocal}) {
    ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), mode), ACL_SUCCESS);
    EXPECT_EQ(end_elsewhere(), ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD);
    EXPECT_EQ(aclmdlRICaptureEnd(stream.get(), &model_), ACL_SUCCESS);
    EXPECT_EQ(aclmdlRIDestroy(model_), ACL_SUCCESS);
  }
  ASSERT_EQ(aclmdlRICaptureBegin(stream.get(), kRelaxed), ACL_SUCCESS);
  EXPECT_EQ(end_elsewhere(), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(model_), ACL_SUCCESS);
}

}  // namespace
}  // namespace ascend_test::capture_tests
