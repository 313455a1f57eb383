// Tensors, scalars, arrays and lists, and repeatable executors.
#include <cstdio>
#include <fstream>
#include <thread>

#include "capture_support.h"

namespace ascend_test::descriptor_tests {
namespace {

using Numbers = std::vector<std::int64_t>;
using Floats = std::vector<float>;

class DescriptorTest : public TwinTest {};

aclTensor* strided_tensor() {
  const std::int64_t shape[] = {2, 3};
  const std::int64_t strides[] = {1, 4};
  const std::int64_t storage[] = {16};
  return aclCreateTensor(shape, 2, ACL_FLOAT16, strides, 5, ACL_FORMAT_NCHW, storage, 1, nullptr);
}

template <class Ask>
Numbers asked(Ask ask, const aclTensor* tensor) {
  std::int64_t* values = nullptr;
  std::uint64_t count = 0;
  EXPECT_EQ(ask(tensor, &values, &count), ACL_SUCCESS);
  const Numbers result(values, values + count);
  delete[] values;
  return result;
}

TEST_F(DescriptorTest, TensorTellsItsParameters) {
  aclTensor* const tensor = strided_tensor();
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(asked(aclGetViewShape, tensor), (Numbers{2, 3}));
  EXPECT_EQ(asked(aclGetViewStrides, tensor), (Numbers{1, 4}));
  EXPECT_EQ(asked(aclGetStorageShape, tensor), (Numbers{16}));
  std::int64_t offset = 0;
  EXPECT_EQ(aclGetViewOffset(tensor, &offset), ACL_SUCCESS);
  EXPECT_EQ(offset, 5);
  aclFormat format = ACL_FORMAT_ND;
  EXPECT_EQ(aclGetFormat(tensor, &format), ACL_SUCCESS);
  EXPECT_EQ(format, ACL_FORMAT_NCHW);
  aclDataType type = ACL_FLOAT;
  EXPECT_EQ(aclGetDataType(tensor, &type), ACL_SUCCESS);
  EXPECT_EQ(type, ACL_FLOAT16);
  int here = 0;
  void* address = &here;
  EXPECT_EQ(aclGetRawTensorAddr(tensor, &address), ACL_SUCCESS);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(aclSetRawTensorAddr(tensor, &here), ACL_SUCCESS);
  EXPECT_EQ(aclGetRawTensorAddr(tensor, &address), ACL_SUCCESS);
  EXPECT_EQ(address, &here);
  EXPECT_EQ(aclDestroyTensor(tensor), ACL_SUCCESS);
}

TEST_F(DescriptorTest, StridesAreContiguousAndScalarsHaveNoDimensions) {
  const std::int64_t shape[] = {2, 3, 4};
  aclTensor* const tensor =
      aclCreateTensor(shape, 3, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, shape, 3, nullptr);
  EXPECT_EQ(asked(aclGetViewStrides, tensor), (Numbers{12, 4, 1}));
  EXPECT_EQ(aclDestroyTensor(tensor), ACL_SUCCESS);
  aclTensor* const scalar =
      aclCreateTensor(nullptr, 0, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  ASSERT_NE(scalar, nullptr);
  EXPECT_EQ(asked(aclGetViewShape, scalar), Numbers{});
  EXPECT_EQ(aclDestroyTensor(scalar), ACL_SUCCESS);
}

TEST_F(DescriptorTest, TensorIsInitialisedAnew) {
  aclTensor* const tensor = strided_tensor();
  const std::int64_t shape[] = {7};
  EXPECT_EQ(
      aclInitTensor(tensor, shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, nullptr),
      ACL_SUCCESS);
  EXPECT_EQ(asked(aclGetViewShape, tensor), (Numbers{7}));
  EXPECT_EQ(aclInitTensor(tensor, shape, 1, static_cast<aclDataType>(99), nullptr, 0, ACL_FORMAT_ND,
                          shape, 1, nullptr),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(asked(aclGetViewShape, tensor), (Numbers{7}));
  EXPECT_EQ(
      aclInitTensor(nullptr, shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, nullptr),
      ACLNN_ERR_PARAM_NULLPTR);
  aclDestroyTensor(tensor);
}

TEST_F(DescriptorTest, RefusesNulls) {
  const std::int64_t shape[] = {2};
  EXPECT_EQ(aclCreateTensor(nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, nullptr),
            nullptr);
  EXPECT_EQ(aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 1, nullptr),
            nullptr);
  EXPECT_EQ(
      aclCreateTensor(shape, 1, ACL_DT_UNDEFINED, nullptr, 0, ACL_FORMAT_ND, shape, 1, nullptr),
      nullptr);
  EXPECT_EQ(aclCreateScalar(nullptr, ACL_FLOAT), nullptr);
  float value = 1;
  EXPECT_EQ(aclCreateScalar(&value, ACL_INT4), nullptr);
  EXPECT_EQ(aclCreateIntArray(nullptr, 1), nullptr);
  EXPECT_EQ(aclCreateFloatArray(nullptr, 1), nullptr);
  EXPECT_EQ(aclCreateBoolArray(nullptr, 1), nullptr);
  EXPECT_EQ(aclCreateTensorList(nullptr, 1), nullptr);
  const aclTensor* const none[] = {nullptr};
  EXPECT_EQ(aclCreateTensorList(none, 1), nullptr);
  EXPECT_EQ(aclCreateScalarList(nullptr, 1), nullptr);
  std::int64_t number = 0;
  std::uint64_t size = 0;
  std::int64_t* numbers = nullptr;
  EXPECT_EQ(aclGetViewOffset(nullptr, &number), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetViewShape(nullptr, &numbers, &size), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclSetRawTensorAddr(nullptr, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetIntArraySize(nullptr, &size), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetTensorListSize(nullptr, &size), ACLNN_ERR_PARAM_NULLPTR);
  aclTensor* const tensor = strided_tensor();
  EXPECT_EQ(aclGetViewOffset(tensor, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetViewShape(tensor, nullptr, &size), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetViewShape(tensor, &numbers, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclDestroyTensor(tensor), ACL_SUCCESS);
  EXPECT_EQ(aclGetViewOffset(tensor, &number), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(DescriptorTest, DestroyingNothingSucceeds) {
  EXPECT_EQ(aclDestroyTensor(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyScalar(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyIntArray(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyFloatArray(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyBoolArray(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyTensorList(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyScalarList(nullptr), ACL_SUCCESS);
}

TEST_F(DescriptorTest, ArraysHaveSizes) {
  const std::int64_t integers[] = {1, 2, 3};
  const float floats[] = {1, 2};
  const bool bools[] = {true};
  std::uint64_t size = 9;
  aclIntArray* const of_integers = aclCreateIntArray(integers, 3);
  EXPECT_EQ(aclGetIntArraySize(of_integers, &size), ACL_SUCCESS);
  EXPECT_EQ(size, 3U);
  aclFloatArray* const of_floats = aclCreateFloatArray(floats, 2);
  EXPECT_EQ(aclGetFloatArraySize(of_floats, &size), ACL_SUCCESS);
  EXPECT_EQ(size, 2U);
  aclBoolArray* const of_bools = aclCreateBoolArray(bools, 1);
  EXPECT_EQ(aclGetBoolArraySize(of_bools, &size), ACL_SUCCESS);
  EXPECT_EQ(size, 1U);
  aclIntArray* const empty = aclCreateIntArray(nullptr, 0);
  EXPECT_EQ(aclGetIntArraySize(empty, &size), ACL_SUCCESS);
  EXPECT_EQ(size, 0U);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_SCALARS), 4U);
  EXPECT_EQ(aclDestroyIntArray(of_integers), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyFloatArray(of_floats), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyBoolArray(of_bools), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyIntArray(empty), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_SCALARS), 0U);
}

TEST_F(DescriptorTest, ListsDestroyTheirMembers) {
  const aclTensor* const tensors[] = {strided_tensor(), strided_tensor()};
  std::uint64_t size = 0;
  aclTensorList* const list = aclCreateTensorList(tensors, 2);
  EXPECT_EQ(aclGetTensorListSize(list, &size), ACL_SUCCESS);
  EXPECT_EQ(size, 2U);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_TENSORS), 2U);
  EXPECT_EQ(aclDestroyTensorList(list), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_TENSORS), 0U);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_LISTS), 0U);
  float value = 2;
  const aclScalar* const scalars[] = {aclCreateScalar(&value, ACL_FLOAT)};
  aclScalarList* const of_scalars = aclCreateScalarList(scalars, 1);
  EXPECT_EQ(aclGetScalarListSize(of_scalars, &size), ACL_SUCCESS);
  EXPECT_EQ(size, 1U);
  EXPECT_EQ(aclDestroyScalarList(of_scalars), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_SCALARS), 0U);
}

/// aclnnAdd of two tensors without addresses, into a third.
class ExecutorTest : public TwinTest {
 protected:
  struct Made {
    aclTensor *self = nullptr, *other = nullptr, *out = nullptr;
    aclScalar* alpha = nullptr;
    aclOpExecutor* executor = nullptr;
  };
  static Made make(std::int64_t size = 2) {
    Made made;
    float one = 1;
    made.alpha = aclCreateScalar(&one, ACL_FLOAT);
    for (aclTensor** tensor : {&made.self, &made.other, &made.out}) {
      *tensor = aclCreateTensor(&size, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &size, 1, nullptr);
    }
    std::uint64_t bytes = 0;
    EXPECT_EQ(aclnnAddGetWorkspaceSize(made.self, made.other, made.alpha, made.out, &bytes,
                                       &made.executor),
              ACL_SUCCESS);
    return made;
  }
  static void destroy(const Made& made) {
    for (aclTensor* tensor : {made.self, made.other, made.out}) aclDestroyTensor(tensor);
    aclDestroyScalar(made.alpha);
  }
};

TEST_F(ExecutorTest, RunsAgainWithOtherAddresses) {
  const Made made = make();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(made.executor), ACL_SUCCESS);
  Tensor<float> a(ACL_FLOAT, {2}, {1, 2});
  Tensor<float> b(ACL_FLOAT, {2}, {10, 20});
  Tensor<float> out(ACL_FLOAT, {2}, {0, 0});
  EXPECT_EQ(aclSetInputTensorAddr(made.executor, 0, made.self, a.address()), ACL_SUCCESS);
  EXPECT_EQ(aclSetInputTensorAddr(made.executor, 1, made.other, b.address()), ACL_SUCCESS);
  EXPECT_EQ(aclSetOutputTensorAddr(made.executor, 0, made.out, out.address()), ACL_SUCCESS);
  EXPECT_EQ(aclnnAdd(nullptr, 0, made.executor, nullptr), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{11, 22}));
  // By its number in the signature: self and other are 0 and 1.
  EXPECT_EQ(aclSetTensorAddr(made.executor, 1, made.other, a.address()), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorAddr(made.executor, 2, made.out, b.address()), ACL_SUCCESS);
  EXPECT_EQ(aclnnAdd(nullptr, 0, made.executor, nullptr), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(b.values(), (Floats{2, 4}));
  EXPECT_EQ(aclDestroyAclOpExecutor(made.executor), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyAclOpExecutor(made.executor), ACLNN_ERR_INNER_NULLPTR);
  destroy(made);
}

TEST_F(ExecutorTest, AddressesNeedTheRightIndexAndTensor) {
  const Made made = make();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(made.executor), ACL_SUCCESS);
  EXPECT_EQ(aclSetInputTensorAddr(made.executor, 1, made.self, nullptr), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclSetInputTensorAddr(made.executor, 2, made.self, nullptr), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclSetInputTensorAddr(made.executor, 0, nullptr, nullptr), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(aclSetInputTensorAddr(nullptr, 0, made.self, nullptr), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(aclSetOutputTensorAddr(made.executor, 1, made.out, nullptr), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclSetOutputTensorAddr(made.executor, 0, made.self, nullptr), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclSetTensorAddr(made.executor, 3, made.out, nullptr), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclSetDynamicInputTensorAddr(made.executor, 0, 0, nullptr, nullptr),
            ACLNN_ERR_INNER_NULLPTR);
  const aclTensor* const members[] = {strided_tensor()};
  aclTensorList* const list = aclCreateTensorList(members, 1);
  EXPECT_EQ(aclSetDynamicInputTensorAddr(made.executor, 0, 0, list, nullptr),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclSetDynamicOutputTensorAddr(made.executor, 5, 0, list, nullptr),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclSetDynamicTensorAddr(made.executor, 0, 0, list, nullptr), ACLNN_ERR_PARAM_INVALID);
  aclDestroyTensorList(list);
  EXPECT_EQ(aclDestroyAclOpExecutor(made.executor), ACL_SUCCESS);
  destroy(made);
}

TEST_F(ExecutorTest, BecomesRepeatableRightAfterTheFirstPhaseOnly) {
  const Made first = make();
  const Made second = make();
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(first.executor), ACLNN_ERR_INNER);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(second.executor), ACL_SUCCESS);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(nullptr), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(aclDestroyAclOpExecutor(nullptr), ACLNN_ERR_INNER_NULLPTR);
  aclDestroyAclOpExecutor(first.executor);
  aclDestroyAclOpExecutor(second.executor);
  destroy(first);
  destroy(second);
}

TEST_F(ExecutorTest, FromTheCacheCannotBecomeRepeatable) {
  set("EXECUTOR_CACHE", "on");
  const Made first = make();
  aclDestroyAclOpExecutor(first.executor);
  const Made hit = make();
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(hit.executor), ACLNN_ERR_INNER);
  aclDestroyAclOpExecutor(hit.executor);
  const Made of_another_shape = make(3);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(of_another_shape.executor), ACL_SUCCESS);
  aclDestroyAclOpExecutor(of_another_shape.executor);
  const Made after_a_repeatable_one = make(3);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(after_a_repeatable_one.executor), ACL_SUCCESS);
  aclDestroyAclOpExecutor(after_a_repeatable_one.executor);
  for (const Made& made : {first, hit, of_another_shape, after_a_repeatable_one}) destroy(made);
}

TEST_F(ExecutorTest, OfNumbersThatDifferInTheirLastBitsIsInNoCache) {
  set("EXECUTOR_CACHE", "on");
  Tensor<float> self(ACL_FLOAT, {2}, {1, 2});
  const std::int64_t size = 2;
  aclIntArray* const shape = aclCreateIntArray(&size, 1);
  const auto made = [&](double epsilon) {
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(aclnnLayerNormGetWorkspaceSize(self.get(), shape, nullptr, nullptr, epsilon,
                                             self.get(), nullptr, nullptr, &bytes, &executor),
              ACL_SUCCESS);
    return executor;
  };
  aclDestroyAclOpExecutor(made(1e-9));
  aclOpExecutor* executor = made(2e-9);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), ACL_SUCCESS);
  aclDestroyAclOpExecutor(executor);
  executor = made(1e-9);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_ERR_INNER);
  aclDestroyAclOpExecutor(executor);
  aclDestroyIntArray(shape);
}

TEST_F(ExecutorTest, InitialisingWithExceptionInformationEndsTheAftermath) {
  set("AFTERMATH", "on");
  set("FAIL_FIRST_PHASE", "1");
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  EXPECT_EQ(add_to(tensor.get(), tensor.get(), 1, nullptr), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(add_to(tensor.get(), tensor.get(), 1, nullptr), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(add_to(tensor.get(), tensor.get(), 1, nullptr), ACL_SUCCESS);
  const std::string path = testing::TempDir() + "ascend_twin_acl.json";
  std::ofstream(path) << R"({"dump": {"dump_scene": "lite_exception"}})";
  EXPECT_EQ(aclnnInit((path + ".none").c_str()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclnnInit(path.c_str()), ACL_SUCCESS);
  std::remove(path.c_str());
  set("FAIL_FIRST_PHASE", "1");
  EXPECT_EQ(add_to(tensor.get(), tensor.get(), 1, nullptr), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(add_to(tensor.get(), tensor.get(), 1, nullptr), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclnnInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclnnFinalize(), ACL_SUCCESS);
}

using ExecutorThreadTest = ExecutorTest;

TEST_F(ExecutorThreadTest, AnotherThreadCannotMakeItRepeatable) {
  const Made made = make();
  aclnnStatus code = ACL_SUCCESS;
  std::thread([&] { code = aclSetAclOpExecutorRepeatable(made.executor); }).join();
  EXPECT_EQ(code, ACLNN_ERR_INNER);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(made.executor), ACL_SUCCESS);
  aclDestroyAclOpExecutor(made.executor);
  destroy(made);
}

}  // namespace
}  // namespace ascend_test::descriptor_tests
