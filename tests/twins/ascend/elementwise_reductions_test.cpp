// Sums, means, extremes and norms along dimensions.
#include <algorithm>
#include <utility>

#include "elementwise_support.h"

namespace ascend_test::elementwise::reductions {
namespace {

using ElementwiseReductions = TwinTest;

const std::vector<float> kCube = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};  // [2][3][2]

TEST_F(ElementwiseReductions, SumsOverAnyDimensions) {
  const Tensor<float> self(ACL_FLOAT, {2, 3, 2}, kCube);
  const struct {
    std::initializer_list<std::int64_t> dims;
    bool keep;
    Shape shape;
    std::vector<float> sums;
  } rows[] = {
      {{0}, false, {3, 2}, {8, 10, 12, 14, 16, 18}},
      {{1}, true, {2, 1, 2}, {9, 12, 27, 30}},
      {{-1}, false, {2, 3}, {3, 7, 11, 15, 19, 23}},
      {{0, 2}, false, {3}, {18, 26, 34}},
      {{2, 0}, true, {1, 3, 1}, {18, 26, 34}},
      {{0, 1, 2}, false, {}, {78}},
      {{}, true, {1, 1, 1}, {78}},
  };
  for (const auto& row : rows) {
    const Tensor<float> out(ACL_FLOAT, row.shape, std::vector<float>(row.sums.size()));
    const Integers dims(row.dims);
    ASSERT_EQ(RUN_OP(ReduceSum, self.get(), dims.get(), row.keep, ACL_FLOAT, out.get()),
              ACL_SUCCESS)
        << ascend_twin_last_message();
    EXPECT_EQ(out.values(), row.sums);
  }
}

TEST_F(ElementwiseReductions, SumsOfViews) {
  const Strided<float> self(ACL_FLOAT, {2, 2}, {1, 3}, 1, {99, 1, 2, 99, 3, 4});  // [[1,3],[2,4]]
  const Strided<float> out(ACL_FLOAT, {2}, {2}, 1, {-1, -1, -1, -1});
  const Integers dims({1});
  ASSERT_EQ(RUN_OP(ReduceSum, self.get(), dims.get(), false, ACL_FLOAT, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.storage(), (std::vector<float>{-1, 4, -1, 6}));
}

TEST_F(ElementwiseReductions, SumsAreOfTheTypeAskedFor) {
  const Integers all({});
  // BOOL as INT64 counts.
  const Tensor<std::uint8_t> bools(ACL_BOOL, {5}, {1, 0, 1, 1, 0});
  const Tensor<std::int64_t> count(ACL_INT64, {}, {0});
  ASSERT_EQ(RUN_OP(ReduceSum, bools.get(), all.get(), false, ACL_INT64, count.get()), ACL_SUCCESS);
  EXPECT_EQ(count.values()[0], 3);
  // INT8 wraps around, INT64 is exact.
  const Tensor<std::int8_t> bytes(ACL_INT8, {2}, {100, 100});
  const Tensor<std::int8_t> byte(ACL_INT8, {}, {0});
  ASSERT_EQ(RUN_OP(ReduceSum, bytes.get(), all.get(), false, ACL_INT8, byte.get()), ACL_SUCCESS);
  EXPECT_EQ(byte.values()[0], -56);
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const Tensor<std::int64_t> wide(ACL_INT64, {2}, {large, 1});
  ASSERT_EQ(RUN_OP(ReduceSum, wide.get(), all.get(), false, ACL_INT64, count.get()), ACL_SUCCESS);
  EXPECT_EQ(count.values()[0], large + 1);
  // Nonzero integers are true, whatever their sum; floats become no integers.
  const Tensor<std::int32_t> opposites(ACL_INT32, {2}, {1, -1});
  const Tensor<std::uint8_t> truth(ACL_BOOL, {}, {9});
  ASSERT_EQ(RUN_OP(ReduceSum, opposites.get(), all.get(), false, ACL_BOOL, truth.get()),
            ACL_SUCCESS);
  EXPECT_EQ(truth.values()[0], 1);
  const Tensor<float> reals(ACL_FLOAT, {4}, {1.9F, -2.9F, 3e9F, kNanF});
  const Tensor<std::int32_t> whole(ACL_INT32, {}, {0});
  EXPECT_EQ(RUN_OP(ReduceSum, reals.get(), all.get(), false, ACL_INT32, whole.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(ReduceSum, reals.get(), all.get(), false, ACL_BOOL, truth.get()),
            ACLNN_ERR_PARAM_INVALID);
  // F16 summed as F32: 2048 + 1 + 1.
  const Tensor<std::uint16_t> halves(ACL_FLOAT16, {3}, {0x6800, 0x3C00, 0x3C00});
  const Tensor<float> single(ACL_FLOAT, {}, {0});
  ASSERT_EQ(RUN_OP(ReduceSum, halves.get(), all.get(), false, ACL_FLOAT, single.get()),
            ACL_SUCCESS);
  EXPECT_EQ(single.values()[0], 2050);
  // And rounded once to F16: 2048 + 1.5 is 2050.
  const Tensor<std::uint16_t> ties(ACL_FLOAT16, {2}, {0x6800, 0x3E00});
  const Tensor<std::uint16_t> half(ACL_FLOAT16, {}, {0});
  ASSERT_EQ(RUN_OP(ReduceSum, ties.get(), all.get(), false, ACL_FLOAT16, half.get()), ACL_SUCCESS);
  EXPECT_EQ(value_of_half(half.values()[0]), 2050);
}

TEST_F(ElementwiseReductions, MeansAndExtremes) {
  const Tensor<float> self(ACL_FLOAT, {2, 3}, {1, -5, 3, 0.5F, 0.25F, kNanF});
  const Tensor<float> out(ACL_FLOAT, {2}, {0, 0});
  const Integers dims({1});
  ASSERT_EQ(RUN_OP(Mean, self.get(), dims.get(), false, ACL_FLOAT, out.get()), ACL_SUCCESS);
  expect_floats(out.values(), {-1.0 / 3, std::nan("")});
  ASSERT_EQ(RUN_OP(Amax, self.get(), dims.get(), false, out.get()), ACL_SUCCESS);
  expect_floats(out.values(), {3, std::nan("")});
  ASSERT_EQ(RUN_OP(Amin, self.get(), dims.get(), false, out.get()), ACL_SUCCESS);
  expect_floats(out.values(), {-5, std::nan("")});
  const Tensor<std::int32_t> integers(ACL_INT32, {3}, {INT32_MIN, 16777217, 16777216});
  const Tensor<std::int32_t> one(ACL_INT32, {}, {0});
  const Integers all({});
  ASSERT_EQ(RUN_OP(Amax, integers.get(), all.get(), false, one.get()), ACL_SUCCESS);
  EXPECT_EQ(one.values()[0], 16777217);
  ASSERT_EQ(RUN_OP(Amin, integers.get(), all.get(), false, one.get()), ACL_SUCCESS);
  EXPECT_EQ(one.values()[0], INT32_MIN);
}

TEST_F(ElementwiseReductions, RowsWithoutElements) {
  const Bare self(ACL_FLOAT, {2, 0});
  const Tensor<float> out(ACL_FLOAT, {2}, {7, 7});
  const Integers dims({1});
  ASSERT_EQ(RUN_OP(ReduceSum, self.get(), dims.get(), false, ACL_FLOAT, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<float>{0, 0}));
  ASSERT_EQ(RUN_OP(Mean, self.get(), dims.get(), false, ACL_FLOAT, out.get()), ACL_SUCCESS);
  expect_floats(out.values(), {std::nan(""), std::nan("")});
  EXPECT_EQ(RUN_OP(Amax, self.get(), dims.get(), false, out.get()), ACLNN_ERR_PARAM_INVALID);
  const Tensor<std::int64_t> places(ACL_INT64, {2}, {7, 7});
  EXPECT_EQ(RUN_OP(ArgMax, self.get(), std::int64_t{1}, false, places.get()),
            ACLNN_ERR_PARAM_INVALID);
  // A sum over the other dimension has no element: nothing is launched.
  const Bare none(ACL_FLOAT, {0});
  const Integers first({0});
  EXPECT_EQ(workspace_of(aclnnReduceSumGetWorkspaceSize, self.get(), first.get(), false, ACL_FLOAT,
                         none.get()),
            0U);
}

TEST_F(ElementwiseReductions, ReductionsRefuseWrongArguments) {
  const Bare self(ACL_FLOAT, {2, 3});
  const Bare out(ACL_FLOAT, {2});
  const Bare integers(ACL_INT32, {2, 3});
  const Bare sums(ACL_INT32, {2});
  const Integers one({1});
  const Integers twice({1, -1});
  const Integers outside({2});
  const auto sum = [](const Bare& from, const Integers& dims, aclDataType type, const Bare& to) {
    return RUN_OP(ReduceSum, from.get(), dims.get(), false, type, to.get());
  };
  EXPECT_EQ(sum(self, twice, ACL_FLOAT, out), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(sum(self, outside, ACL_FLOAT, out), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(sum(self, one, ACL_FLOAT16, out), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(sum(self, one, ACL_DT_UNDEFINED, out), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(sum(self, one, ACL_FLOAT, self), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(ReduceSum, self.get(), one.get(), true, ACL_FLOAT, out.get()),
            ACLNN_ERR_PARAM_INVALID);  // [2, 1]
  EXPECT_EQ(RUN_OP(Mean, integers.get(), one.get(), false, ACL_INT32, sums.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Amax, self.get(), one.get(), false, sums.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(ReduceSum, self.get(), nullptr, false, ACL_FLOAT, out.get()),
            ACLNN_ERR_PARAM_NULLPTR);
}

TEST_F(ElementwiseReductions, WorkspaceIsNeverZeroAndNotMonotonic) {
  const Integers one({1});
  const auto bytes = [&](std::int64_t rows) {
    const Bare self(ACL_FLOAT, {rows, 64});
    const Bare out(ACL_FLOAT, {rows});
    return workspace_of(aclnnReduceSumGetWorkspaceSize, self.get(), one.get(), false, ACL_FLOAT,
                        out.get());
  };
  EXPECT_GT(bytes(1000), 0U);
  EXPECT_GT(bytes(1), bytes(1000));
}

TEST_F(ElementwiseReductions, ArgMaxTakesTheFirstAndNanIsTheGreatest) {
  const Tensor<float> self(ACL_FLOAT, {3, 3}, {1, 5, 5, -2, -1, -3, 9, kNanF, 10});
  const Tensor<std::int64_t> places(ACL_INT64, {3}, {7, 7, 7});
  ASSERT_EQ(RUN_OP(ArgMax, self.get(), std::int64_t{-1}, false, places.get()), ACL_SUCCESS);
  EXPECT_EQ(places.values(), (std::vector<std::int64_t>{1, 1, 1}));
  const Tensor<std::int32_t> columns(ACL_INT32, {1, 3}, {7, 7, 7});
  ASSERT_EQ(RUN_OP(ArgMax, self.get(), std::int64_t{0}, true, columns.get()), ACL_SUCCESS);
  EXPECT_EQ(columns.values(), (std::vector<std::int32_t>{2, 2, 2}));
  const std::int64_t large = std::int64_t{1} << 53;
  const Tensor<std::int64_t> wide(ACL_INT64, {2}, {large, large + 1});
  const Tensor<std::int64_t> place(ACL_INT64, {}, {7});
  ASSERT_EQ(RUN_OP(ArgMax, wide.get(), std::int64_t{0}, false, place.get()), ACL_SUCCESS);
  EXPECT_EQ(place.values()[0], 1);
  EXPECT_EQ(RUN_OP(ArgMax, self.get(), std::int64_t{0}, false, columns.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(ArgMax, self.get(), std::int64_t{2}, false, places.get()),
            ACLNN_ERR_PARAM_INVALID);
  const Bare reals(ACL_FLOAT, {3});
  EXPECT_EQ(RUN_OP(ArgMax, self.get(), std::int64_t{0}, false, reals.get()),
            ACLNN_ERR_PARAM_INVALID);
}

TEST_F(ElementwiseReductions, NormsOfEveryOrder) {
  const Tensor<float> self(ACL_FLOAT, {2, 3}, {3, -4, 0, 1, -2, 2});
  const Tensor<float> out(ACL_FLOAT, {2, 1}, {0, 0});
  const Integers dims({-1});
  const std::pair<float, std::vector<double>> rows[] = {
      {2, {5, 3}},
      {1, {7, 5}},
      {0, {2, 3}},
      {kInfinityF, {4, 2}},
      {-kInfinityF, {0, 1}},
      {3, {std::cbrt(91), std::cbrt(17)}},
      {0.5F, {std::pow(std::sqrt(3) + 2, 2), std::pow(1 + 2 * std::sqrt(2), 2)}},
  };
  for (const auto& [order, exact] : rows) {
    const Scalar p(order);
    ASSERT_EQ(RUN_OP(Norm, self.get(), p.get(), dims.get(), true, out.get()), ACL_SUCCESS);
    SCOPED_TRACE(order);
    expect_floats(out.values(), exact);
  }
  const Tensor<float> spoilt(ACL_FLOAT, {3}, {1, kNanF, 2});
  const Tensor<float> one(ACL_FLOAT, {1}, {0});
  for (const float order : {2.0F, 1.0F, kInfinityF, -kInfinityF}) {
    const Scalar p(order);
    ASSERT_EQ(RUN_OP(Norm, spoilt.get(), p.get(), dims.get(), true, one.get()), ACL_SUCCESS);
    EXPECT_TRUE(std::isnan(one.values()[0])) << order;
  }
  const Scalar two(2);
  const Bare integers(ACL_INT32, {2, 1});
  EXPECT_EQ(RUN_OP(Norm, self.get(), two.get(), dims.get(), true, integers.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Norm, self.get(), nullptr, dims.get(), true, out.get()),
            ACLNN_ERR_PARAM_NULLPTR);
}

TEST_F(ElementwiseReductions, LargeSumsSaturateOnA310P) {
  for (const auto& [chip, code] : {std::pair{"910b", 0x7C00}, std::pair{"310p", 0x7BFF}}) {
    restart({{"PROFILE", chip}});
    const Tensor<std::uint16_t> self(ACL_FLOAT16, {2}, {0x7BFF, 0x7BFF});
    const Tensor<std::uint16_t> out(ACL_FLOAT16, {}, {0});
    const Integers dims({0});
    ASSERT_EQ(RUN_OP(ReduceSum, self.get(), dims.get(), false, ACL_FLOAT16, out.get()),
              ACL_SUCCESS);
    EXPECT_EQ(out.values()[0], code) << chip;
  }
}

}  // namespace
}  // namespace ascend_test::elementwise::reductions
