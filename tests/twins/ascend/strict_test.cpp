// Each objection of strict mode that needs one stream: with STRICT=status it is told, with off
// nothing is.
#include <memory>

#include "capture_support.h"

namespace ascend_test::strict_tests {
namespace {

using Floats = std::vector<float>;

/// Both ways: the code and the words with strict mode, no objection without it.
class StrictTest : public TwinTest {
 protected:
  template <class Misuse>
  static void expect_objection(const std::string& words, aclError code, Misuse misuse,
                               const std::string& order = "eager") {
    for (const char* strict : {"status", "off"}) {
      SCOPED_TRACE(strict);
      restart({{"STRICT", strict}, {"ORDER", order}});
      const aclError answer = misuse();
      if (std::string(strict) == "status") {
        EXPECT_EQ(answer, code);
        EXPECT_TRUE(objected_to(words));
        EXPECT_GE(ascend_twin_count(ASCEND_TWIN_OBJECTIONS), 1U);
      } else {
        EXPECT_EQ(answer, ACL_SUCCESS) << ascend_twin_last_message();
        EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_OBJECTIONS), 0U);
      }
    }
  }
};

aclTensor* tensor_of(void* address, std::int64_t size = 2) {
  return aclCreateTensor(&size, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &size, 1, address);
}

aclError first_of(std::initializer_list<aclError> codes) {
  for (const aclError code : codes) {
    if (code != ACL_SUCCESS) return code;
  }
  return ACL_SUCCESS;
}

TEST_F(StrictTest, TensorDestroyedTwice) {
  expect_objection("destroyed before", ACLNN_ERR_PARAM_INVALID, [] {
    aclTensor* const tensor = tensor_of(nullptr);
    return first_of({aclDestroyTensor(tensor), aclDestroyTensor(tensor)});
  });
}

TEST_F(StrictTest, ScalarAndArraysDestroyedTwice) {
  expect_objection("destroyed before", ACLNN_ERR_PARAM_INVALID, [] {
    float value = 1;
    aclScalar* const scalar = aclCreateScalar(&value, ACL_FLOAT);
    return first_of({aclDestroyScalar(scalar), aclDestroyScalar(scalar)});
  });
  expect_objection("destroyed before", ACLNN_ERR_PARAM_INVALID, [] {
    aclFloatArray* const array = aclCreateFloatArray(nullptr, 0);
    return first_of({aclDestroyFloatArray(array), aclDestroyFloatArray(array)});
  });
}

TEST_F(StrictTest, MemberOfAListDestroyedAlone) {
  expect_objection("a list owns the tensor", ACLNN_ERR_PARAM_INVALID, [] {
    aclTensor* const tensor = tensor_of(nullptr);
    aclTensorList* const list = aclCreateTensorList(&tensor, 1);
    const aclError code = aclDestroyTensor(tensor);
    if (code == ACL_SUCCESS) aclDestroyTensorList(list);
    return code;
  });
  expect_objection("destroyed before its list", ACLNN_ERR_PARAM_INVALID, [] {
    aclTensor* const tensor = tensor_of(nullptr);
    aclTensorList* const list = aclCreateTensorList(&tensor, 1);
    aclDestroyTensor(tensor);
    return aclDestroyTensorList(list);
  });
}

TEST_F(StrictTest, MemberOfTwoLists) {
  expect_objection("in a list twice", ACL_ERROR_INTERNAL_ERROR, [] {
    aclTensor* const tensor = tensor_of(nullptr);
    aclTensorList* const first = aclCreateTensorList(&tensor, 1);
    aclTensorList* const second = aclCreateTensorList(&tensor, 1);
    aclDestroyTensorList(first);
    return second == nullptr ? ACL_ERROR_INTERNAL_ERROR : ACL_SUCCESS;
  });
}

/// An executor of aclnnAdd over these, whose scalar stays.
struct Prepared {
  explicit Prepared(aclTensor* self, aclTensor* other, aclTensor* out) {
    float one = 1;
    alpha = aclCreateScalar(&one, ACL_FLOAT);
    code = aclnnAddGetWorkspaceSize(self, other, alpha, out, &bytes, &executor);
  }
  ~Prepared() { aclDestroyScalar(alpha); }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  aclScalar* alpha = nullptr;
  aclOpExecutor* executor = nullptr;
  std::uint64_t bytes = 0;
  aclError code = ACL_SUCCESS;
};

TEST_F(StrictTest, TensorDestroyedBetweenThePhases) {
  expect_objection("destroyed between the phases", ACLNN_ERR_PARAM_INVALID, [] {
    Tensor<float> memory(ACL_FLOAT, {2}, {1, 2});
    aclTensor* const other = tensor_of(memory.address());
    const Prepared prepared(memory.get(), other, memory.get());
    aclDestroyTensor(other);
    return first_of({prepared.code, aclnnAdd(nullptr, 0, prepared.executor, nullptr),
                     aclrtSynchronizeStream(nullptr)});
  });
}

TEST_F(StrictTest, TensorsMayGoAfterTheFirstRunOfARepeatableExecutor) {
  restart({{"STRICT", "status"}});
  Tensor<float> memory(ACL_FLOAT, {2}, {1, 2});
  aclTensor* const other = tensor_of(memory.address());
  const Prepared prepared(memory.get(), other, memory.get());
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(prepared.executor), ACL_SUCCESS);
  EXPECT_EQ(aclnnAdd(nullptr, 0, prepared.executor, nullptr), ACL_SUCCESS);
  aclDestroyTensor(other);
  EXPECT_EQ(aclnnAdd(nullptr, 0, prepared.executor, nullptr), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(memory.values(), (Floats{4, 8}));
  EXPECT_EQ(aclDestroyAclOpExecutor(prepared.executor), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_OBJECTIONS), 0U) << ascend_twin_last_objection();
}

TEST_F(StrictTest, ExecutorDestroyedBetweenThePhasesOfAnother) {
  expect_objection("between the phases of another", ACLNN_ERR_INNER, [] {
    Tensor<float> memory(ACL_FLOAT, {2}, {1, 2});
    const Prepared first(memory.get(), memory.get(), memory.get());
    const Prepared second(memory.get(), memory.get(), memory.get());
    return first_of({aclDestroyAclOpExecutor(first.executor),
                     aclnnAdd(nullptr, 0, second.executor, nullptr),
                     aclrtSynchronizeStream(nullptr)});
  });
}

TEST_F(StrictTest, MemoryFreedUnderQueuedWork) {
  restart({{"STRICT", "status"}, {"ORDER", "lazy"}});
  auto tensor =
      std::make_unique<Tensor<float>>(ACL_FLOAT, std::vector<std::int64_t>{2}, Floats{1, 2});
  ASSERT_EQ(add_to(tensor->get(), tensor->get(), 1, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(tensor->address()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("freed under queued work"));
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
  tensor.reset();
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_OBJECTIONS), 1U);
}

TEST_F(StrictTest, TwoStreamsUseTheSameBytesUnordered) {
  expect_objection(
      "without an event between them", ACL_ERROR_RT_PARAM_INVALID,
      [] {
        const OwnStream a;
        const OwnStream b;
        Tensor<float> tensor(ACL_FLOAT, {2}, {1, 2});
        const aclError code = first_of({add_to(tensor.get(), tensor.get(), 1, a.get()),
                                        add_to(tensor.get(), tensor.get(), 1, b.get())});
        return first_of({code, sync(a.get()), sync(b.get())});
      },
      "lazy");
}

TEST_F(StrictTest, StreamsMayReadTheSameBytesAndUseThemOneAfterAnother) {
  restart({{"STRICT", "status"}, {"ORDER", "lazy"}});
  const OwnStream a;
  const OwnStream b;
  Tensor<float> read(ACL_FLOAT, {2}, {1, 2});
  Tensor<float> first(ACL_FLOAT, {2}, {0, 0});
  Tensor<float> second(ACL_FLOAT, {2}, {0, 0});
  EXPECT_EQ(add_to(read.get(), read.get(), 1, a.get(), first.get()), ACL_SUCCESS);
  EXPECT_EQ(add_to(read.get(), read.get(), 2, b.get(), second.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(a.get()), ACL_SUCCESS);
  EXPECT_EQ(add_to(first.get(), read.get(), 1, b.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(b.get()), ACL_SUCCESS);
  EXPECT_EQ(first.values(), (Floats{3, 6}));
  EXPECT_EQ(second.values(), (Floats{3, 6}));
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_OBJECTIONS), 0U) << ascend_twin_last_objection();
}

TEST_F(StrictTest, OperandWithoutATail) {
  expect_objection("without the tail of 32", ACL_ERROR_RT_PARAM_INVALID, [] {
    // 64 bytes have a tail of 32, of which the last 4 elements take half.
    const Buffer buffer(64);
    const std::int64_t size = 20;
    Tensor<float> source(ACL_FLOAT, {20}, Floats(20, 1));
    aclTensor* const out = tensor_of(buffer.address(), size);
    const aclError code =
        first_of({add_to(source.get(), source.get(), 1, nullptr, out), sync(nullptr)});
    aclDestroyTensor(out);
    return code;
  });
}

TEST_F(StrictTest, ReplayOverFreedMemoryIsToldWhenItIsSubmitted) {
  restart({{"STRICT", "status"}});
  const OwnStream stream;
  Tensor<float> one(ACL_FLOAT, {2}, {1, 1});
  auto sum = std::make_unique<Tensor<float>>(ACL_FLOAT, std::vector<std::int64_t>{2}, Floats{1, 2});
  const aclmdlRI model =
      capture_of(stream.get(), [&] { add_to(sum->get(), one.get(), 1, stream.get()); });
  EXPECT_EQ(aclmdlRIExecuteAsync(model, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
  sum.reset();
  // At the same address.
  const Tensor<float> another(ACL_FLOAT, {2}, {0, 0});
  EXPECT_EQ(aclmdlRIExecuteAsync(model, stream.get()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("a replay over freed memory"));
  EXPECT_EQ(another.values(), (Floats{0, 0}));
  set("STRICT", "off");
  EXPECT_EQ(aclmdlRIExecuteAsync(model, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(another.values(), (Floats{1, 1}));
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
}

TEST_F(StrictTest, ReplayOverItself) {
  expect_objection(
      "a replay over itself", ACL_ERROR_RT_PARAM_INVALID,
      [] {
        const OwnStream a;
        const OwnStream b;
        Tensor<float> sum(ACL_FLOAT, {2}, {1, 2});
        const aclmdlRI model =
            capture_of(a.get(), [&] { add_to(sum.get(), sum.get(), 1, a.get()); });
        const aclError code =
            first_of({aclmdlRIExecuteAsync(model, a.get()), aclmdlRIExecuteAsync(model, a.get()),
                      aclmdlRIExecuteAsync(model, b.get())});
        return first_of({code, sync(a.get()), sync(b.get()), aclmdlRIDestroy(model)});
      },
      "lazy");
}

TEST_F(StrictTest, FinaliseNamesWhatIsLeft) {
  expect_objection("1 executors that never ran or were not destroyed", ACL_ERROR_INTERNAL_ERROR,
                   [] {
                     Tensor<float> tensor(ACL_FLOAT, {2}, {1, 2});
                     const Prepared prepared(tensor.get(), tensor.get(), tensor.get());
                     return first_of({prepared.code, aclFinalize()});
                   });
}

TEST_F(StrictTest, CorrectProgramMeetsNoObjection) {
  for (const char* order : {"eager", "lazy", "2", "3"}) {
    SCOPED_TRACE(order);
    restart({{"STRICT", "status"}, {"ORDER", order}});
    {
      const OwnStream stream;
      Tensor<float> sum(ACL_FLOAT, {3}, {1, 2, 3});
      Tensor<float> one(ACL_FLOAT, {3}, {1, 1, 1});
      const aclmdlRI model =
          capture_of(stream.get(), [&] { add_to(sum.get(), one.get(), 1, stream.get()); });
      for (int i = 0; i < 3; ++i) EXPECT_EQ(aclmdlRIExecuteAsync(model, stream.get()), ACL_SUCCESS);
      EXPECT_EQ(add_to(sum.get(), one.get(), 10, stream.get()), ACL_SUCCESS);
      EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
      EXPECT_EQ(sum.values(), (Floats{14, 15, 16}));
      EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
    }
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS) << ascend_twin_last_objection();
    EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_OBJECTIONS), 0U) << ascend_twin_last_objection();
  }
}

}  // namespace
}  // namespace ascend_test::strict_tests
