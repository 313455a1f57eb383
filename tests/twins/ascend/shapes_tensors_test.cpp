// Joining, repeating, permuting, slicing and padding of the CANN twin.
#include "indexing_support.h"

namespace ascend_test::indexing {
namespace {

using Shapes = TwinTest;

TEST_F(Shapes, JoinsTensorsOfTwoTypesAndAView) {
  Buffer memory(6 * sizeof(float));
  memory.put(counted<float>(6));
  // Columns 1 and 2 of two rows of three, in F32; then one column of F16.
  const std::int64_t shape[] = {2, 2};
  const std::int64_t strides[] = {3, 1};
  const std::int64_t storage[] = {6};
  aclTensor* const view =
      aclCreateTensor(shape, 2, ACL_FLOAT, strides, 1, ACL_FORMAT_ND, storage, 1, memory.address());
  Buffer halves(4);
  halves.put(Halves{0x3C00, 0x4000});
  const std::int64_t column[] = {2, 1};
  aclTensor* const half = aclCreateTensor(column, 2, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_ND, column,
                                          2, halves.address());
  const aclTensor* const members[] = {view, half};
  aclTensorList* const list = aclCreateTensorList(members, 2);
  Tensor<float> out(ACL_FLOAT, {2, 3}, Floats(6));
  ASSERT_EQ(RUN_OP(Cat, list, -1, out.get()), ACL_SUCCESS) << ascend_twin_last_message();
  EXPECT_EQ(out.values(), (Floats{1, 2, 1, 4, 5, 2}));
  Tensor<std::int32_t> integers(ACL_INT32, {2, 3}, Ints(6));
  EXPECT_EQ(RUN_OP(Cat, list, -1, integers.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Cat, list, 0, out.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Cat, list, 2, out.get()), ACLNN_ERR_PARAM_INVALID);
  Tensor<float> wide(ACL_FLOAT, {2, 4}, Floats(8));
  EXPECT_EQ(RUN_OP(Cat, list, 1, wide.get()), ACLNN_ERR_PARAM_INVALID);
  aclDestroyTensorList(list);
}

TEST_F(Shapes, RefusesToJoinNothing) {
  aclTensorList* const list = aclCreateTensorList(nullptr, 0);
  Tensor<float> out(ACL_FLOAT, {2}, Floats(2));
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(RUN_OP(Cat, list, 0, out.get()), ACLNN_ERR_PARAM_INVALID);
  aclDestroyTensorList(list);
}

TEST_F(Shapes, RepeatsWholeTensors) {
  Tensor<std::uint16_t> self(ACL_FLOAT16, {2}, {1, 0x7E05});
  Tensor<std::uint16_t> out(ACL_FLOAT16, {2, 4}, Halves(8));
  ASSERT_EQ(RUN_OP(Repeat, self.get(), Integers({2, 2}).get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Halves{1, 0x7E05, 1, 0x7E05, 1, 0x7E05, 1, 0x7E05}));
  Tensor<float> square(ACL_FLOAT, {2, 2}, {1, 2, 3, 4});
  Tensor<float> wide(ACL_FLOAT, {2, 4}, Floats(8));
  ASSERT_EQ(RUN_OP(Repeat, square.get(), Integers({1, 2}).get(), wide.get()), ACL_SUCCESS);
  EXPECT_EQ(wide.values(), (Floats{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(RUN_OP(Repeat, square.get(), Integers({2}).get(), wide.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Repeat, square.get(), Integers({1, -2}).get(), wide.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Repeat, square.get(), Integers({2, 1}).get(), wide.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Repeat, square.get(), Integers({1, 1, 1, 1, 1, 1, 1, 1, 2}).get(), wide.get()),
            ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Shapes, RepeatsEachRow) {
  Tensor<float> self(ACL_FLOAT, {2, 2}, {1, 2, 3, 4});
  Tensor<float> out(ACL_FLOAT, {2, 6}, Floats(12));
  ASSERT_EQ(RUN_OP(RepeatInterleaveIntWithDim, self.get(), 3, 1, 6, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}));
  EXPECT_EQ(RUN_OP(RepeatInterleaveIntWithDim, self.get(), 3, 1, 5, out.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(RepeatInterleaveIntWithDim, self.get(), -3, 1, 6, out.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(RepeatInterleaveIntWithDim, self.get(), 3, 2, 6, out.get()),
            ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Shapes, PermutesDimensions) {
  const Floats values = counted<float>(24);
  Tensor<float> self(ACL_FLOAT, {2, 3, 4}, values);
  Tensor<float> out(ACL_FLOAT, {4, 2, 3}, Floats(24));
  ASSERT_EQ(RUN_OP(Permute, self.get(), Integers({-1, 0, 1}).get(), out.get()), ACL_SUCCESS);
  Floats expected;
  for (std::size_t c = 0; c < 4; ++c) {
    for (std::size_t row = 0; row < 6; ++row) expected.push_back(values[row * 4 + c]);
  }
  EXPECT_EQ(out.values(), expected);
  const auto code = [&](std::initializer_list<std::int64_t> dimensions) {
    return RUN_OP(Permute, self.get(), Integers(dimensions).get(), out.get());
  };
  EXPECT_EQ(code({0, 1}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({2, 0, 2}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({3, 0, 1}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({0, 1, 2}), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Shapes, SlicesWithStepsAndEndsOutside) {
  Tensor<float> self(ACL_FLOAT, {2, 5}, counted<float>(10));
  const auto slice = [&](std::int64_t start, std::int64_t end, std::int64_t step,
                         std::int64_t count) {
    Tensor<float> out(ACL_FLOAT, {2, count}, Floats(static_cast<std::size_t>(2 * count)));
    EXPECT_EQ(RUN_OP(Slice, self.get(), 1, start, end, step, out.get()), ACL_SUCCESS);
    return out.values();
  };
  EXPECT_EQ(slice(1, 4, 1, 3), (Floats{1, 2, 3, 6, 7, 8}));
  EXPECT_EQ(slice(0, INT64_MAX, 2, 3), (Floats{0, 2, 4, 5, 7, 9}));
  EXPECT_EQ(slice(-2, 99, 1, 2), (Floats{3, 4, 8, 9}));
  EXPECT_EQ(slice(-99, -4, 1, 1), (Floats{0, 5}));
  EXPECT_EQ(slice(4, 5, INT64_MAX, 1), (Floats{4, 9}));
  Tensor<float> out(ACL_FLOAT, {2, 2}, Floats(4));
  const auto code = [&](std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
    return RUN_OP(Slice, self.get(), dim, start, end, step, out.get());
  };
  EXPECT_EQ(code(1, 0, 4, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(1, 0, 4, -1), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(1, 0, 4, 1), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(2, 0, 2, 1), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Shapes, RollsOneOrManyDimensions) {
  Tensor<float> self(ACL_FLOAT, {2, 3}, {0, 1, 2, 3, 4, 5});
  Tensor<float> out(ACL_FLOAT, {2, 3}, Floats(6));
  ASSERT_EQ(RUN_OP(Roll, self.get(), Integers({1, -1}).get(), Integers({0, 1}).get(), out.get()),
            ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{4, 5, 3, 1, 2, 0}));
  ASSERT_EQ(RUN_OP(Roll, self.get(), Integers({8}).get(), Integers({}).get(), out.get()),
            ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{4, 5, 0, 1, 2, 3}));
  EXPECT_EQ(RUN_OP(Roll, self.get(), Integers({1}).get(), Integers({0, 1}).get(), out.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Roll, self.get(), Integers({1, 1}).get(), Integers({}).get(), out.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Roll, self.get(), Integers({1}).get(), Integers({2}).get(), out.get()),
            ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Shapes, KeepsTriangles) {
  const Floats values = counted<float>(18, 1.0F);
  for (const std::int64_t diagonal : {-4, -1, 0, 1, 4}) {
    Tensor<float> self(ACL_FLOAT, {2, 3, 3}, values);
    Tensor<float> lower(ACL_FLOAT, {2, 3, 3}, Floats(18, 9));
    Tensor<float> upper(ACL_FLOAT, {2, 3, 3}, Floats(18, 9));
    ASSERT_EQ(RUN_OP(Tril, self.get(), diagonal, lower.get()), ACL_SUCCESS);
    ASSERT_EQ(RUN_OP(Triu, self.get(), diagonal, upper.get()), ACL_SUCCESS);
    Floats below;
    Floats above;
    for (std::int64_t i = 0; i < 18; ++i) {
      const std::int64_t row = i / 3 % 3;
      const std::int64_t column = i % 3;
      below.push_back(column <= row + diagonal ? values[static_cast<std::size_t>(i)] : 0);
      above.push_back(column >= row + diagonal ? values[static_cast<std::size_t>(i)] : 0);
    }
    EXPECT_EQ(lower.values(), below) << diagonal;
    EXPECT_EQ(upper.values(), above) << diagonal;
    ASSERT_EQ(RUN_OP(InplaceTril, self.get(), diagonal), ACL_SUCCESS);
    EXPECT_EQ(self.values(), below) << diagonal;
    Tensor<float> other(ACL_FLOAT, {2, 3, 3}, values);
    ASSERT_EQ(RUN_OP(InplaceTriu, other.get(), diagonal), ACL_SUCCESS);
    EXPECT_EQ(other.values(), above) << diagonal;
  }
  Tensor<float> line(ACL_FLOAT, {3}, Floats(3));
  EXPECT_EQ(RUN_OP(InplaceTril, line.get(), 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Triu, line.get(), 0, line.get()), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Shapes, PadsWithAConstantAndCrops) {
  Tensor<float> self(ACL_FLOAT, {2, 2}, {1, 2, 3, 4});
  Tensor<float> out(ACL_FLOAT, {3, 4}, Floats(12));
  ASSERT_EQ(
      RUN_OP(ConstantPadNd, self.get(), Integers({1, 1, 0, 1}).get(), real(7).get(), out.get()),
      ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{7, 1, 2, 7, 7, 3, 4, 7, 7, 7, 7, 7}));
  Tensor<float> column(ACL_FLOAT, {2, 1}, Floats(2));
  ASSERT_EQ(RUN_OP(ConstantPadNd, self.get(), Integers({-1, 0}).get(), real(7).get(), column.get()),
            ACL_SUCCESS);
  EXPECT_EQ(column.values(), (Floats{2, 4}));
  const auto code = [&](std::initializer_list<std::int64_t> pads) {
    return RUN_OP(ConstantPadNd, self.get(), Integers(pads).get(), real(0).get(), out.get());
  };
  EXPECT_EQ(code({1, 1, 1}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({1, 1, 0, 1, 0, 0}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({-2, -1}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({1, 1}), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Shapes, AConstantOfPaddingSaturatesWhereTheChipDoes) {
  restart({{"PROFILE", "310p"}});
  Tensor<std::uint16_t> self(ACL_FLOAT16, {1}, {0x3C00});
  Tensor<std::uint16_t> out(ACL_FLOAT16, {2}, Halves(2));
  ASSERT_EQ(
      RUN_OP(ConstantPadNd, self.get(), Integers({0, 1}).get(), real(-3.4e38F).get(), out.get()),
      ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Halves{0x3C00, 0xFBFF}));
}

TEST_F(Shapes, ReflectsAtTheEdges) {
  Tensor<float> self(ACL_FLOAT, {1, 4}, {0, 1, 2, 3});
  Tensor<float> out(ACL_FLOAT, {1, 9}, Floats(9));
  ASSERT_EQ(RUN_OP(ReflectionPad1d, self.get(), Integers({2, 3}).get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{2, 1, 0, 1, 2, 3, 2, 1, 0}));
  const auto code = [&](std::initializer_list<std::int64_t> pads) {
    return RUN_OP(ReflectionPad1d, self.get(), Integers(pads).get(), out.get());
  };
  EXPECT_EQ(code({4, 1}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({-1, 3}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({2}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code({2, 2}), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Shapes, EnlargesByTheNearestElement) {
  Tensor<float> self(ACL_FLOAT, {1, 1, 2, 2}, {1, 2, 3, 4});
  Tensor<float> out(ACL_FLOAT, {1, 1, 3, 4}, Floats(12));
  ASSERT_EQ(RUN_OP(UpsampleNearest2d, self.get(), Integers({3, 4}).get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(RUN_OP(UpsampleNearest2d, self.get(), Integers({4, 4}).get(), out.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(UpsampleNearest2d, self.get(), Integers({0, 4}).get(), out.get()),
            ACLNN_ERR_PARAM_INVALID);
  Tensor<float> flat(ACL_FLOAT, {2, 2}, Floats(4));
  EXPECT_EQ(RUN_OP(UpsampleNearest2d, flat.get(), Integers({3, 4}).get(), out.get()),
            ACLNN_ERR_PARAM_INVALID);
}

/// First phases that get nothing.
TEST_F(Shapes, EveryOperatorRefusesNullPointers) {
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
#define EXPECT_NULL_REFUSED(name, ...)                                     \
  EXPECT_EQ(aclnn##name##GetWorkspaceSize(__VA_ARGS__, &bytes, &executor), \
            ACLNN_ERR_PARAM_NULLPTR)                                       \
      << #name;                                                            \
  EXPECT_EQ(aclnn##name(nullptr, 0, nullptr, nullptr), ACLNN_ERR_PARAM_NULLPTR) << #name
  EXPECT_NULL_REFUSED(Cast, nullptr, ACL_FLOAT, nullptr);
  EXPECT_NULL_REFUSED(InplaceCopy, nullptr, nullptr);
  EXPECT_NULL_REFUSED(InplaceZero, nullptr);
  EXPECT_NULL_REFUSED(InplaceOne, nullptr);
  EXPECT_NULL_REFUSED(InplaceFillScalar, nullptr, nullptr);
  EXPECT_NULL_REFUSED(InplaceMaskedFillScalar, nullptr, nullptr, nullptr);
  EXPECT_NULL_REFUSED(Arange, nullptr, nullptr, nullptr, nullptr);
  EXPECT_NULL_REFUSED(GatherV2, nullptr, 0, nullptr, nullptr);
  EXPECT_NULL_REFUSED(IndexSelect, nullptr, 0, nullptr, nullptr);
  EXPECT_NULL_REFUSED(Gather, nullptr, 0, nullptr, nullptr);
  EXPECT_NULL_REFUSED(Embedding, nullptr, nullptr, nullptr);
  EXPECT_NULL_REFUSED(InplaceIndexCopy, nullptr, 0, nullptr, nullptr);
  EXPECT_NULL_REFUSED(InplaceIndexFillTensor, nullptr, 0, nullptr, nullptr);
  EXPECT_NULL_REFUSED(Argsort, nullptr, 0, false, nullptr);
  EXPECT_NULL_REFUSED(Topk, nullptr, 0, 0, false, false, nullptr, nullptr);
  EXPECT_NULL_REFUSED(Cumsum, nullptr, 0, ACL_FLOAT, nullptr);
  EXPECT_NULL_REFUSED(TriangularSolve, nullptr, nullptr, false, false, false, nullptr, nullptr);
  EXPECT_NULL_REFUSED(Cat, nullptr, 0, nullptr);
  EXPECT_NULL_REFUSED(Repeat, nullptr, nullptr, nullptr);
  EXPECT_NULL_REFUSED(RepeatInterleaveIntWithDim, nullptr, 0, 0, 0, nullptr);
  EXPECT_NULL_REFUSED(Permute, nullptr, nullptr, nullptr);
  EXPECT_NULL_REFUSED(Slice, nullptr, 0, 0, 0, 0, nullptr);
  EXPECT_NULL_REFUSED(Roll, nullptr, nullptr, nullptr, nullptr);
  EXPECT_NULL_REFUSED(Tril, nullptr, 0, nullptr);
  EXPECT_NULL_REFUSED(Triu, nullptr, 0, nullptr);
  EXPECT_NULL_REFUSED(InplaceTril, nullptr, 0);
  EXPECT_NULL_REFUSED(InplaceTriu, nullptr, 0);
  EXPECT_NULL_REFUSED(ConstantPadNd, nullptr, nullptr, nullptr, nullptr);
  EXPECT_NULL_REFUSED(ReflectionPad1d, nullptr, nullptr, nullptr);
  EXPECT_NULL_REFUSED(UpsampleNearest2d, nullptr, nullptr, nullptr);
  EXPECT_NULL_REFUSED(Im2col, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  EXPECT_NULL_REFUSED(Convolution, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, false,
                      nullptr, 1, nullptr, 0);
  EXPECT_NULL_REFUSED(AvgPool2d, nullptr, nullptr, nullptr, nullptr, false, false, 0, 0, nullptr);
  EXPECT_NULL_REFUSED(MaxPool, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, nullptr);
#undef EXPECT_NULL_REFUSED
}

TEST_F(Shapes, TheDocumentationKnowsFewerOperatorsThanThePackage) {
  const auto code_with = [](const char* support) {
    restart({{"PROFILE", "310b"}, {"SUPPORT", support}});
    Tensor<float> self(ACL_FLOAT, {2, 2}, Floats(4));
    return RUN_OP(Permute, self.get(), Integers({1, 0}).get(), self.get());
  };
  EXPECT_EQ(code_with("docs"), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(code_with("package"), ACL_SUCCESS);
  EXPECT_EQ(code_with("field"), ACL_SUCCESS);
}

TEST_F(Shapes, EmptyResultsNeedNoWork) {
  const std::int64_t none[] = {0, 2};
  aclTensor* const empty =
      aclCreateTensor(none, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, none, 2, nullptr);
  Tensor<float> self(ACL_FLOAT, {2, 2}, Floats(4));
  const std::uint64_t tasks = ascend_twin_count(ASCEND_TWIN_TASKS);
  EXPECT_EQ(RUN_OP(Slice, self.get(), 0, 1, 1, 1, empty), ACL_SUCCESS);
  EXPECT_EQ(RUN_OP(Repeat, self.get(), Integers({0, 1}).get(), empty), ACL_SUCCESS);
  EXPECT_EQ(RUN_OP(InplaceTril, empty, 0), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_TASKS), tasks);
  // Something of nothing: the padding alone.
  Tensor<float> padded(ACL_FLOAT, {1, 2}, Floats(2, 9));
  EXPECT_EQ(RUN_OP(ConstantPadNd, empty, Integers({0, 0, 0, 1}).get(), real(3).get(), padded.get()),
            ACL_SUCCESS);
  EXPECT_EQ(padded.values(), Floats(2, 3));
  aclDestroyTensor(empty);
}

}  // namespace
}  // namespace ascend_test::indexing
