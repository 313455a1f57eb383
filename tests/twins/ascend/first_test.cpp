// From aclInit to a result, and the rules that every operator has from phases.cpp.
#include <dlfcn.h>

#include "support.h"

namespace ascend_test {
namespace {

using First = TwinTest;

aclScalar* scalar(float value) {
  return aclCreateScalar(&value, ACL_FLOAT);
}

TEST_F(First, AddsWithAlphaAndBroadcast) {
  Tensor<float> self(ACL_FLOAT, {2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor<float> other(ACL_FLOAT, {3}, {10, 20, 30});
  Tensor<float> out(ACL_FLOAT, {2, 3}, std::vector<float>(6));
  aclScalar* const alpha = scalar(2);
  ASSERT_EQ(RUN_OP(Add, self.get(), other.get(), alpha, out.get()), ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(out.values(), (std::vector<float>{21, 42, 63, 24, 45, 66}));
  EXPECT_EQ(aclDestroyScalar(alpha), ACL_SUCCESS);
}

TEST_F(First, RefusesAShapeThatDoesNotBroadcast) {
  Tensor<float> self(ACL_FLOAT, {2, 3}, std::vector<float>(6));
  Tensor<float> other(ACL_FLOAT, {2}, std::vector<float>(2));
  Tensor<float> out(ACL_FLOAT, {2, 3}, std::vector<float>(6));
  aclScalar* const alpha = scalar(1);
  EXPECT_EQ(RUN_OP(Add, self.get(), other.get(), alpha, out.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_NE(aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(RUN_OP(Add, self.get(), nullptr, alpha, out.get()), ACLNN_ERR_PARAM_NULLPTR);
  aclDestroyScalar(alpha);
}

TEST_F(First, MultipliesATransposedView) {
  Tensor<float> self(ACL_FLOAT, {2, 3}, {1, 2, 3, 4, 5, 6});
  Buffer weight(6 * sizeof(float));  // [N = 2][K = 3]
  weight.put(std::vector<float>{1, 0, 2, 0, 1, 1});
  const std::int64_t shape[] = {3, 2};
  const std::int64_t strides[] = {1, 3};
  const std::int64_t storage[] = {6};
  aclTensor* const mat2 =
      aclCreateTensor(shape, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, storage, 1, weight.address());
  Tensor<float> out(ACL_FLOAT, {2, 2}, std::vector<float>(4));
  ASSERT_EQ(RUN_OP(Matmul, self.get(), mat2, out.get(), std::int8_t{0}), ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(out.values(), (std::vector<float>{7, 5, 16, 11}));
  aclDestroyTensor(mat2);
}

TEST_F(First, An310PRefusesProductsOfF32AndA310BHasNoKernel) {
  const auto code_on = [](const char* chip) {
    restart({{"PROFILE", chip}});
    Tensor<float> self(ACL_FLOAT, {2, 2}, std::vector<float>(4));
    Tensor<float> out(ACL_FLOAT, {2, 2}, std::vector<float>(4));
    return RUN_OP(Matmul, self.get(), self.get(), out.get(), std::int8_t{0});
  };
  EXPECT_EQ(code_on("310p"), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_on("310b"), ACLNN_ERR_INNER_NULLPTR);
}

TEST_F(First, ExecutorsAreUsedOnce) {
  Tensor<float> tensor(ACL_FLOAT, {2}, {1, 2});
  aclScalar* const alpha = scalar(1);
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(
      aclnnAddGetWorkspaceSize(tensor.get(), tensor.get(), alpha, tensor.get(), &bytes, &executor),
      ACL_SUCCESS);
  EXPECT_EQ(aclnnAdd(nullptr, 0, executor, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclnnAdd(nullptr, 0, executor, nullptr), ACLNN_ERR_INNER);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_EXECUTORS), 0U);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(tensor.values(), (std::vector<float>{2, 4}));
  aclDestroyScalar(alpha);
}

TEST_F(First, StrictModeObjectsToBytesThatWereNeverWritten) {
  set("STRICT", "status");
  Tensor<float> self(ACL_FLOAT, {2}, {1, 2});
  Buffer fresh(8);
  const std::int64_t shape[] = {2};
  aclTensor* const other =
      aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, fresh.address());
  aclScalar* const alpha = scalar(1);
  EXPECT_EQ(RUN_OP(Add, self.get(), other, alpha, self.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_NE(std::string(ascend_twin_last_objection()).find("never written"), std::string::npos);
  aclDestroyScalar(alpha);
  aclDestroyTensor(other);
}

/// The host writes to a 310B's memory without a call.
TEST_F(First, StrictModeKnowsNothingOfBytesThatTheHostWrites) {
  restart({{"PROFILE", "310b"}, {"STRICT", "status"}});
  Buffer memory(8);
  auto* const numbers = static_cast<float*>(memory.address());
  numbers[0] = 1;
  numbers[1] = 2;
  const std::int64_t shape[] = {2};
  aclTensor* const both =
      aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, memory.address());
  aclScalar* const alpha = scalar(1);
  EXPECT_EQ(RUN_OP(Add, both, both, alpha, both), ACL_SUCCESS);
  EXPECT_EQ(numbers[1], 4);
  aclDestroyScalar(alpha);
  aclDestroyTensor(both);
}

TEST_F(First, LazyWorkHappensWhenItIsWaitedFor) {
  restart({{"ORDER", "lazy"}});
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  aclScalar* const alpha = scalar(1);
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(
      aclnnAddGetWorkspaceSize(tensor.get(), tensor.get(), alpha, tensor.get(), &bytes, &executor),
      ACL_SUCCESS);
  ASSERT_EQ(aclnnAdd(nullptr, 0, executor, nullptr), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_TASKS), 0U);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(tensor.values(), (std::vector<float>{2}));
  aclDestroyScalar(alpha);
}

TEST_F(First, MemoryIsAlignedTo64AndNoBetterAndItsEndIsOnTheLedger) {
  void* address = nullptr;
  ASSERT_EQ(aclrtMalloc(&address, 100, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % 128, 64U);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_DEVICE_BYTES), 100U);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_DEVICE_BYTES_RESERVED), 160U);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(address), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_NE(std::string(ascend_twin_last_message()).find("is freed"), std::string::npos);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_DEVICE_BYTES), 0U);
}

TEST_F(First, TheOtherLayoutHasTheSameStateAndOnlyItsOwnNames) {
  void* const library = dlopen(ASCEND_TWIN_9_0_PATH, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto init = reinterpret_cast<decltype(&aclInit)>(dlsym(library, "aclInit"));
  ASSERT_NE(init, nullptr);
  EXPECT_EQ(init(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_NE(dlsym(library, "ascend_twin_version"), nullptr);
  EXPECT_EQ(dlsym(library, "aclnnAdd"), nullptr);
  dlclose(library);
}

}  // namespace
}  // namespace ascend_test
