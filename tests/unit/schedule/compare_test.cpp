// How far two tensors are apart: expected values by hand from the formula.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "schedule/check/compare.h"
#include "shunt/verify.h"
#include "support/tensor_io.h"

namespace shunt::test::schedule_compare_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
Difference difference(DType dtype, const std::vector<T>& got, const std::vector<T>& expected) {
  const auto size = static_cast<std::int64_t>(got.size());
  const auto tensor = make_tensor(dtype, {size});
  EXPECT_TRUE(tensor);
  return compare(*tensor, {size, 1, 1, 1}, reinterpret_cast<const std::byte*>(got.data()),
                 reinterpret_cast<const std::byte*>(expected.data()));
}

TEST(Compare, IsSquaredErrorOverSquares) {
  struct Row {
    std::vector<float> got, expected;
    double error;
  };
  const std::vector<Row> rows = {
      {{1, 2}, {1, 2}, 0},
      {{1, 3}, {1, 2}, 1.0 / 5},
      {{0.5, 0}, {0, 0}, 0.25},  // nothing to divide by
      {{0, 0}, {0, 0}, 0},
      {{kNan, 2}, {kNan, 2}, 0},  // a mask's infinities, and their results, are equal
      {{-kInf, 3}, {-kInf, 2}, 1.0 / 4},
      {{kInf, 1}, {-kInf, 1}, kInfinity},
      {{kNan, 1}, {1, 1}, kInfinity},
      {{1, 1}, {1, kNan}, kInfinity},
      {{1, kInf}, {1, 1}, kInfinity},
      {{kNan, 1}, {kInf, 1}, kInfinity},
      {{1e-40F, 1}, {0, 1}, 0},  // some devices have no such numbers
      {{3e38F, 0}, {-3e38F, 0}, 4},
  };
  for (const Row& row : rows) {
    EXPECT_DOUBLE_EQ(difference(DType::kF32, row.got, row.expected).error, row.error)
        << row.got[0] << " " << row.got[1] << " for " << row.expected[0] << " " << row.expected[1];
  }
}

TEST(Compare, NamesTheElementWithTheLargestDifference) {
  const Difference found = difference<float>(DType::kF32, {1, 2.5, -7, 4}, {1, 2, 3, 4});
  EXPECT_EQ(found.at, (Sizes{2, 0, 0, 0}));
  EXPECT_EQ(found.got, -7);
  EXPECT_EQ(found.expected, 3);
  EXPECT_EQ(difference<float>(DType::kF32, {1, 9, kNan}, {1, 2, 3}).at, (Sizes{2, 0, 0, 0}));
}

TEST(Compare, OfIntegersIsTheShareThatDiffers) {
  EXPECT_EQ(difference<std::int32_t>(DType::kI32, {1, 2, 3, 4}, {1, 2, 3, 1000}).error, 0.25);
  const std::int64_t large = (std::int64_t{1} << 40) + 1;  // a float can't tell it from the next
  EXPECT_EQ(difference<std::int64_t>(DType::kI64, {large, 0}, {large + 1, 0}).error, 0.5);
  EXPECT_EQ(difference<std::int64_t>(DType::kI64, {large, 0}, {large, 0}).error, 0);
}

TEST(Compare, ErrorOfAWriteIsRelativeToTheElementsThatChanged) {
  const Tensor tensor = *make_tensor(DType::kF32, {4});
  const auto error = [&](const std::vector<float>& got, const std::vector<float>& expected,
                         const std::vector<float>& before) {
    const auto bytes = [](const std::vector<float>& v) {
      return reinterpret_cast<const std::byte*>(v.data());
    };
    return compare(tensor, {4, 1, 1, 1}, bytes(got), bytes(expected), bytes(before)).error;
  };
  EXPECT_DOUBLE_EQ(error({9, 9, 3, 9}, {9, 9, 2, 9}, {9, 9, 1, 9}), 1.0 / 4);
  EXPECT_DOUBLE_EQ(error({9, 8, 2, 9}, {9, 9, 2, 9}, {9, 9, 1, 9}), 1.0 / 4);  // beside it
  EXPECT_DOUBLE_EQ(error({9, 8, 2, 9}, {9, 9, 2, 9}, {9, 9, 2, 9}), 1);        // nothing changed
  EXPECT_DOUBLE_EQ(error({9, 9, 2, 9}, {9, 9, 2, 9}, {kNan, kInf, 1, 9}), 0);
}

TEST(Compare, FollowsStridesAndActualSizes) {
  // [2, 3], of which a run uses [2, 2], dimension 0 being the outer one in memory.
  Tensor tensor = *make_tensor(DType::kF32, {2, 3});
  tensor.strides = {12, 4, 24, 24};
  const std::vector<float> expected = {1, 2, 100, 3, 4, 100};
  std::vector<float> got = {1, 2, -1, 3, 5, -1};
  const Difference found =
      compare(tensor, {2, 2, 1, 1}, reinterpret_cast<const std::byte*>(got.data()),
              reinterpret_cast<const std::byte*>(expected.data()));
  EXPECT_DOUBLE_EQ(found.error, 1.0 / 30);
  EXPECT_EQ(found.at, (Sizes{1, 1, 0, 0}));
  const Difference none = compare(tensor, {2, 0, 1, 1}, nullptr, nullptr);
  EXPECT_EQ(none.error, 0);
}

TEST(Compare, ComparesBlockQuantizedTensors) {
  const RefTensor values = make_values({.sizes = {64, 3, 1, 1}}, 7);
  const Tensor tensor = *make_tensor(DType::kQ8_0, {64, 3});
  std::vector<std::byte> a(static_cast<std::size_t>(byte_span(tensor)));
  write_tensor(values, tensor, a.data());
  std::vector<std::byte> b = a;
  EXPECT_EQ(compare(tensor, {64, 3, 1, 1}, a.data(), b.data()).error, 0);
  RefTensor changed = values;
  changed.at(40, 2) += 100;
  write_tensor(changed, tensor, b.data());
  const Difference found = compare(tensor, {64, 3, 1, 1}, a.data(), b.data());
  EXPECT_NEAR(found.error, nmse(rounded(values, DType::kQ8_0), rounded(changed, DType::kQ8_0)),
              1e-12);
  EXPECT_EQ(found.at, (Sizes{40, 2, 0, 0}));
}

TEST(DefaultThreshold, LeavesRoomForRoundingToTheType) {
  const RefTensor values = make_values({.sizes = {4096, 1, 1, 1}}, 3);
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
    const double error = nmse(rounded(values, dtype), values);
    EXPECT_LT(error, default_threshold(dtype)) << to_string(dtype);
  }
  // And none for a kernel that is 1% off where numbers are floats.
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
    EXPECT_GT(0.01 * 0.01, default_threshold(dtype)) << to_string(dtype);
}

}  // namespace
}  // namespace shunt::test::schedule_compare_test
