// Shape and Tensor: sizes, strides, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "shunt/tensor.h"

namespace shunt::tensor_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kBig = std::int64_t{1} << 32;

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({64, 512}), 32768);
  EXPECT_EQ(element_count({2, 3, 5, 7}), 210);
  EXPECT_EQ(element_count({2, 0, 5, 7}), 0);
}

TEST(Shape, CountSaturatesAndZeroWinsOverOverflow) {
  EXPECT_EQ(element_count({kBig, kBig}), kMax);
  EXPECT_EQ(element_count({kBig, kBig, kBig, kBig}), kMax);
  EXPECT_EQ(element_count({kBig, kBig, kBig, 0}), 0);
  EXPECT_EQ(element_count({kBig, -1}), 0);
}

TEST(Shape, DynamicDimCountsWithItsMaximum) {
  const Shape shape = {64, Dim(1, 512), Dim(2, 10, 3)};
  EXPECT_THAT(max_sizes(shape), ElementsAre(64, 512, 30, 1));
  EXPECT_EQ(element_count(shape), 64 * 512 * 30);
  EXPECT_EQ(Dim(1, kMax, 2).max, kMax);
}

TEST(Shape, Prints) {
  EXPECT_EQ(to_string(Shape{}), "[1]");
  EXPECT_EQ(to_string(Shape{64, 512}), "[64, 512]");
  EXPECT_EQ(to_string(Shape{1, 1, 3}), "[1, 1, 3]");
  EXPECT_EQ(to_string(Shape{64, Dim(1, 512)}), "[64, 512*]");
  EXPECT_EQ(to_string(Shape{64, Dim(1, 1)}), "[64, 1*]");
  EXPECT_EQ(to_string(Shape{0}), "[0]");
}

TEST(Tensor, IsMadeContiguous) {
  const Tensor tensor = *make_tensor(DType::kF32, {64, 512, 3});
  EXPECT_THAT(tensor.strides, ElementsAre(4, 256, 131072, 393216));
  EXPECT_EQ(byte_span(tensor), 393216);
  EXPECT_TRUE(is_contiguous(tensor));
  EXPECT_EQ(to_string(tensor), "F32 [64, 512, 3]");
}

TEST(Tensor, OfBlocksHasTheStrideOfABlock) {
  const Tensor tensor = *make_tensor(DType::kQ4_0, {64, 5});
  EXPECT_THAT(tensor.strides, ElementsAre(18, 36, 180, 180));
  EXPECT_EQ(byte_span(tensor), 180);
  EXPECT_TRUE(is_contiguous(tensor));
}

TEST(Tensor, MayHaveNoElements) {
  const Tensor tensor = *make_tensor(DType::kF32, {64, 0});
  EXPECT_EQ(byte_span(tensor), 0);
  EXPECT_TRUE(is_contiguous(tensor));
}

TEST(Tensor, ViewsHaveTheirSpanAndAreNotContiguous) {
  Tensor rows = *make_tensor(DType::kF32, {4, 3});  // every second row of 4
  rows.strides[1] = 32;
  EXPECT_FALSE(is_contiguous(rows));
  EXPECT_EQ(byte_span(rows), 2 * 32 + 16);

  Tensor transposed = *make_tensor(DType::kF32, {4, 3});
  transposed.strides = {12, 4, 48, 48};
  EXPECT_FALSE(is_contiguous(transposed));
  EXPECT_EQ(byte_span(transposed), 48);

  Tensor repeated = *make_tensor(DType::kF32, {4, 3});
  repeated.strides[1] = 0;
  EXPECT_FALSE(is_contiguous(repeated));
  EXPECT_EQ(byte_span(repeated), 16);
}

TEST(Tensor, StrideOfASingleElementDoesNotMatter) {
  Tensor tensor = *make_tensor(DType::kF32, {4, 1, 3});
  tensor.strides[1] = 12345;
  EXPECT_TRUE(is_contiguous(tensor));
  EXPECT_EQ(byte_span(tensor), 48);
}

TEST(Tensor, SpanSaturates) {
  Tensor tensor = *make_tensor(DType::kF32, {4, kBig});
  tensor.strides[1] = kBig;
  EXPECT_EQ(byte_span(tensor), kMax);
}

void expect_invalid(DType dtype, const Shape& shape, const char* part) {
  const auto result = make_tensor(dtype, shape);
  ASSERT_FALSE(result) << to_string(shape);
  EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(result.error().message(), HasSubstr(part));
  EXPECT_THAT(result.error().message(), HasSubstr(to_string(shape)));
}

TEST(Tensor, RejectsNegativeDimensions) {
  expect_invalid(DType::kF32, {4, -1}, "dimension 1 is negative");
  expect_invalid(DType::kF32, {std::numeric_limits<std::int64_t>::min()},
                 "dimension 0 is negative");
}

TEST(Tensor, RejectsRowsOfPartialBlocks) {
  expect_invalid(DType::kQ8_0, {33, 2}, "multiple of 32");
  // At most 64 elements, but one more with each token.
  expect_invalid(DType::kQ8_0, {Dim(1, 64), 2}, "multiple of 32");
  EXPECT_TRUE(make_tensor(DType::kQ8_0, {Dim(1, 64, 32), 2}));
}

TEST(Tensor, RejectsByteSizesAbove63Bits) {
  expect_invalid(DType::kF32, {kBig, kBig}, "63 bits");
  expect_invalid(DType::kF32, {kMax}, "63 bits");
  expect_invalid(DType::kF32, {std::int64_t{1} << 61}, "63 bits");
  EXPECT_TRUE(make_tensor(DType::kF32, {(std::int64_t{1} << 61) - 1}));
  EXPECT_TRUE(make_tensor(DType::kI8, {kMax}));
  // 2^62 elements of Q4_0 are 2^57 * 18 bytes.
  EXPECT_TRUE(make_tensor(DType::kQ4_0, {std::int64_t{1} << 62}));
}

}  // namespace
}  // namespace shunt::tensor_test
