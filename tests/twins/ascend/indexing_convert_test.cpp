// Cast, copies and fills of the CANN twin.
#include <cmath>
#include <limits>

#include "indexing_support.h"

namespace ascend_test::indexing {
namespace {

using IndexingConvert = TwinTest;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_F(IndexingConvert, RoundsF32ToTheNearestEvenF16) {
  // Halfway between 1 and the next F16, just above it, the greatest F16, beyond it.
  Tensor<float> self(ACL_FLOAT, {5}, {1 + 0x1p-11F, 1 + 0x1p-11F + 0x1p-20F, 65504, 65520, -0.0F});
  Tensor<std::uint16_t> out(ACL_FLOAT16, {5}, Halves(5));
  ASSERT_EQ(RUN_OP(Cast, self.get(), ACL_FLOAT16, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Halves{0x3C00, 0x3C01, 0x7BFF, 0x7C00, 0x8000}));
}

TEST_F(IndexingConvert, SaturatesWhereTheChipDoes) {
  restart({{"PROFILE", "310p"}});
  Tensor<float> self(ACL_FLOAT, {4}, {1e6F, -kInfinity, kNan, 1});
  Tensor<std::uint16_t> out(ACL_FLOAT16, {4}, Halves(4));
  ASSERT_EQ(RUN_OP(Cast, self.get(), ACL_FLOAT16, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Halves{0x7BFF, 0xFBFF, 0, 0x3C00}));
}

TEST_F(IndexingConvert, TruncatesFloatsToIntegers) {
  Tensor<float> self(ACL_FLOAT, {6}, {1.9F, -1.9F, kNan, 3e9F, -3e9F, 0.4F});
  Tensor<std::int32_t> out(ACL_INT32, {6}, Ints(6));
  ASSERT_EQ(RUN_OP(Cast, self.get(), ACL_INT32, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Ints{1, -1, 0, INT32_MAX, INT32_MIN, 0}));
}

TEST_F(IndexingConvert, RoundsF32ToTheNearestEvenBf16) {
  // Halfway between 1 and the next BF16, between that and the one after it, and just above each.
  Tensor<float> self(ACL_FLOAT, {6},
                     {1 + 0x1p-8F, 1 + 3 * 0x1p-8F, 1 + 0x1p-8F + 0x1p-20F, -1 - 0x1p-8F,
                      std::numeric_limits<float>::max(), 1 + 0x1p-8F - 0x1p-20F});
  Tensor<std::uint16_t> out(ACL_BF16, {6}, Halves(6));
  ASSERT_EQ(RUN_OP(Cast, self.get(), ACL_BF16, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Halves{0x3F80, 0x3F82, 0x3F81, 0xBF80, 0x7F80, 0x3F80}));
}

TEST_F(IndexingConvert, FloatsBeyondABytesRangeBecomeItsEnd) {
  Tensor<float> self(ACL_FLOAT, {6}, {127.9F, 300, -128.9F, -1e9F, kNan, kInfinity});
  Tensor<std::int8_t> small(ACL_INT8, {6}, std::vector<std::int8_t>(6));
  ASSERT_EQ(RUN_OP(Cast, self.get(), ACL_INT8, small.get()), ACL_SUCCESS);
  EXPECT_EQ(small.values(), (std::vector<std::int8_t>{127, 127, -128, -128, 0, 127}));
  Tensor<std::uint8_t> natural(ACL_UINT8, {6}, std::vector<std::uint8_t>(6));
  ASSERT_EQ(RUN_OP(Cast, self.get(), ACL_UINT8, natural.get()), ACL_SUCCESS);
  EXPECT_EQ(natural.values(), (std::vector<std::uint8_t>{127, 255, 0, 0, 0, 255}));
}

TEST_F(IndexingConvert, KeepsAllBitsOfLongIntegers) {
  const Longs values{INT64_MAX, INT64_MIN, (std::int64_t{1} << 53) + 1};
  Tensor<std::int64_t> self(ACL_INT64, {3}, values);
  Tensor<std::int64_t> out(ACL_INT64, {3}, Longs(3));
  ASSERT_EQ(RUN_OP(Cast, self.get(), ACL_INT64, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), values);
  Tensor<std::uint8_t> truth(ACL_BOOL, {3}, std::vector<std::uint8_t>(3));
  ASSERT_EQ(RUN_OP(Cast, self.get(), ACL_BOOL, truth.get()), ACL_SUCCESS);
  EXPECT_EQ(truth.values(), (std::vector<std::uint8_t>{1, 1, 1}));
}

TEST_F(IndexingConvert, RefusesAnotherShapeOrType) {
  Tensor<float> self(ACL_FLOAT, {2}, Floats(2));
  Tensor<float> longer(ACL_FLOAT, {3}, Floats(3));
  EXPECT_EQ(RUN_OP(Cast, self.get(), ACL_FLOAT, longer.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Cast, self.get(), ACL_INT32, self.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Cast, nullptr, ACL_INT32, self.get()), ACLNN_ERR_PARAM_NULLPTR);
}

TEST_F(IndexingConvert, RefusesBf16WhereTheChipHasNone) {
  const auto code_on = [](const char* chip) {
    restart({{"PROFILE", chip}});
    Tensor<float> self(ACL_FLOAT, {2}, {1, -3});
    Tensor<std::uint16_t> out(ACL_BF16, {2}, Halves(2));
    const aclError code = RUN_OP(Cast, self.get(), ACL_BF16, out.get());
    EXPECT_EQ(out.values(), code == ACL_SUCCESS ? (Halves{0x3F80, 0xC040}) : Halves(2));
    return code;
  };
  EXPECT_EQ(code_on("910b"), ACL_SUCCESS);
  EXPECT_EQ(code_on("310p"), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_on("310b"), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(IndexingConvert, StrictModeObjectsToWhatA310PConvertsInexactly) {
  restart({{"PROFILE", "310p"}, {"STRICT", "status"}});
  Tensor<float> self(ACL_FLOAT, {2}, {1, 3e9F});
  Tensor<std::int64_t> out(ACL_INT64, {2}, Longs(2));
  EXPECT_EQ(RUN_OP(Cast, self.get(), ACL_INT64, out.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_NE(std::string(ascend_twin_last_objection()).find("exactly"), std::string::npos);
  Tensor<std::int32_t> narrow(ACL_INT32, {2}, {1919, -2047});
  Tensor<std::int8_t> bytes(ACL_INT8, {2}, std::vector<std::int8_t>(2));
  EXPECT_EQ(RUN_OP(Cast, narrow.get(), ACL_INT8, bytes.get()), ACL_SUCCESS);
  Tensor<std::int32_t> wide(ACL_INT32, {2}, {1920, 0});
  EXPECT_EQ(RUN_OP(Cast, wide.get(), ACL_INT8, bytes.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
  set("STRICT", "off");
  EXPECT_EQ(RUN_OP(Cast, self.get(), ACL_INT64, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Longs{1, 3000000000}));
}

TEST_F(IndexingConvert, CopiesViewsWithoutChangingBits) {
  // NaNs with payloads, and subnormal numbers, pass as they are, on a saturating chip, too.
  restart({{"PROFILE", "310p"}});
  Buffer memory(12 * sizeof(std::uint16_t));
  memory.put(Halves{0x7E01, 0x7C00, 0x0001, 0xFC01, 1, 2, 3, 4, 5, 6, 7, 8});
  const Section source(ACL_FLOAT16, {2, 3}, {1, 2}, 1, 12, memory.address());
  Tensor<std::uint16_t> out(ACL_FLOAT16, {2, 3}, Halves(6));
  ASSERT_EQ(RUN_OP(InplaceCopy, out.get(), source.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Halves{0x7C00, 0xFC01, 2, 0x0001, 1, 3}));
}

TEST_F(IndexingConvert, CopiesIntoAViewAndLeavesTheRest) {
  Buffer memory(8 * sizeof(float));
  memory.put(Floats(8, -1));
  const Section target(ACL_FLOAT, {2, 2}, {4, 2}, 1, 8, memory.address());
  Tensor<std::uint16_t> source(ACL_FLOAT16, {2, 2}, {0x3C00, 0x4000, 0x4200, 0x4400});
  ASSERT_EQ(RUN_OP(InplaceCopy, target.get(), source.get()), ACL_SUCCESS);
  EXPECT_EQ(memory.get<float>(), (Floats{-1, 1, -1, 2, -1, 3, -1, 4}));
  Tensor<float> row(ACL_FLOAT, {2}, {7, 8});
  ASSERT_EQ(RUN_OP(InplaceCopy, target.get(), row.get()), ACL_SUCCESS);
  EXPECT_EQ(memory.get<float>(), (Floats{-1, 7, -1, 8, -1, 7, -1, 8}));
}

TEST_F(IndexingConvert, CopiesOntoItselfTransposed) {
  Buffer memory(4 * sizeof(float));
  memory.put(Floats{1, 2, 3, 4});
  const Section plain(ACL_FLOAT, {2, 2}, {2, 1}, 0, 4, memory.address());
  const Section turned(ACL_FLOAT, {2, 2}, {1, 2}, 0, 4, memory.address());
  ASSERT_EQ(RUN_OP(InplaceCopy, plain.get(), turned.get()), ACL_SUCCESS);
  EXPECT_EQ(memory.get<float>(), (Floats{1, 3, 2, 4}));
}

TEST_F(IndexingConvert, RefusesACopyThatDoesNotBroadcastOrIsNz) {
  Tensor<float> target(ACL_FLOAT, {2}, Floats(2));
  Tensor<float> source(ACL_FLOAT, {2, 2}, Floats(4));
  EXPECT_EQ(RUN_OP(InplaceCopy, target.get(), source.get()), ACLNN_ERR_PARAM_INVALID);
  Buffer memory(512);
  const Section nz(ACL_FLOAT, {2, 2}, {2, 1}, 0, 128, memory.address(), ACL_FORMAT_FRACTAL_NZ);
  EXPECT_EQ(RUN_OP(InplaceCopy, nz.get(), source.get()), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(IndexingConvert, FillsWithConstants) {
  Tensor<float> floats(ACL_FLOAT, {3}, {1, 2, 3});
  ASSERT_EQ(RUN_OP(InplaceZero, floats.get()), ACL_SUCCESS);
  EXPECT_EQ(floats.values(), Floats(3, 0));
  Tensor<std::uint16_t> halves(ACL_FLOAT16, {2}, Halves(2));
  ASSERT_EQ(RUN_OP(InplaceOne, halves.get()), ACL_SUCCESS);
  EXPECT_EQ(halves.values(), Halves(2, 0x3C00));
  Tensor<std::int64_t> longs(ACL_INT64, {2}, Longs(2));
  ASSERT_EQ(RUN_OP(InplaceFillScalar, longs.get(), whole(INT64_MAX).get()), ACL_SUCCESS);
  EXPECT_EQ(longs.values(), Longs(2, INT64_MAX));
  ASSERT_EQ(RUN_OP(InplaceFillScalar, longs.get(), real(-2.5F).get()), ACL_SUCCESS);
  EXPECT_EQ(longs.values(), Longs(2, -2));
  ASSERT_EQ(RUN_OP(InplaceFillScalar, halves.get(), real(-kInfinity).get()), ACL_SUCCESS);
  EXPECT_EQ(halves.values(), Halves(2, 0xFC00));
}

TEST_F(IndexingConvert, FillsWhereAMaskIsSet) {
  Tensor<float> self(ACL_FLOAT, {2, 3}, counted<float>(6));
  Tensor<std::uint8_t> mask(ACL_BOOL, {3}, {1, 0, 1});
  ASSERT_EQ(RUN_OP(InplaceMaskedFillScalar, self.get(), mask.get(), real(-kInfinity).get()),
            ACL_SUCCESS);
  EXPECT_EQ(self.values(), (Floats{-kInfinity, 1, -kInfinity, -kInfinity, 4, -kInfinity}));
  EXPECT_EQ(RUN_OP(InplaceMaskedFillScalar, self.get(), self.get(), real(0).get()),
            ACLNN_ERR_PARAM_INVALID);
  Tensor<std::uint8_t> wrong(ACL_BOOL, {2}, {1, 0});
  EXPECT_EQ(RUN_OP(InplaceMaskedFillScalar, self.get(), wrong.get(), real(0).get()),
            ACLNN_ERR_PARAM_INVALID);
}

TEST_F(IndexingConvert, CountsFromStartToEnd) {
  Tensor<std::int64_t> longs(ACL_INT64, {4}, Longs(4));
  ASSERT_EQ(RUN_OP(Arange, whole(3).get(), whole(-8).get(), whole(-3).get(), longs.get()),
            ACL_SUCCESS);
  EXPECT_EQ(longs.values(), (Longs{3, 0, -3, -6}));
  Tensor<float> floats(ACL_FLOAT, {3}, Floats(3));
  ASSERT_EQ(RUN_OP(Arange, whole(0).get(), real(0.75F).get(), real(0.25F).get(), floats.get()),
            ACL_SUCCESS);
  EXPECT_EQ(floats.values(), (Floats{0, 0.25F, 0.5F}));
}

TEST_F(IndexingConvert, RefusesSequencesThatDoNotFit) {
  Tensor<float> out(ACL_FLOAT, {3}, Floats(3));
  const auto code = [&](float start, float end, float step) {
    return RUN_OP(Arange, real(start).get(), real(end).get(), real(step).get(), out.get());
  };
  EXPECT_EQ(code(0, 4, 1), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(0, 3, 0), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(0, 3, -1), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(0, kInfinity, 1), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(0, 3, kNan), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(0, 2.5F, 1), ACL_SUCCESS);
  EXPECT_EQ(code(0, 0x1p63F, 1), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(-0x1p126F, 0x1p126F, 0x1p-20F), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(IndexingConvert, EmptyTensorsNeedNothing) {
  const std::int64_t shape[] = {0, 3};
  aclTensor* const empty =
      aclCreateTensor(shape, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 2, nullptr);
  const std::uint64_t tasks = ascend_twin_count(ASCEND_TWIN_TASKS);
  EXPECT_EQ(RUN_OP(Cast, empty, ACL_FLOAT, empty), ACL_SUCCESS);
  EXPECT_EQ(RUN_OP(InplaceZero, empty), ACL_SUCCESS);
  EXPECT_EQ(RUN_OP(InplaceCopy, empty, empty), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_TASKS), tasks);
  aclDestroyTensor(empty);
}

}  // namespace
}  // namespace ascend_test::indexing
