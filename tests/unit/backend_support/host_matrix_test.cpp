// Parts of matrices as floats: in place, or decoded.
#include "backend_support/host_matrix.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "shunt/tensor.h"

namespace shunt::test::backend_support_host_matrix_test {
namespace {

/// Rows 0, 1, 2, ... of `elements` each: element e of row r is 100 * r + e.
std::vector<float> numbers(std::int64_t elements, std::int64_t rows) {
  std::vector<float> values;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t e = 0; e < elements; ++e) values.push_back(static_cast<float>(100 * r + e));
  }
  return values;
}
HostTensor tensor(std::vector<float>& values, const Sizes& sizes,
                  std::array<std::int64_t, kMaxDims> strides) {
  return {reinterpret_cast<std::byte*>(values.data()), DType::kF32, sizes, strides};
}

/// An element of a part, by the part's own indices.
float at(const FloatMatrix& matrix, std::int64_t element, std::int64_t row) {
  return matrix.transposed ? matrix.data[element * matrix.stride + row]
                           : matrix.data[row * matrix.stride + element];
}

constexpr MatrixPart kPart = {2, 3, 1, 4};

void expect_part(const FloatMatrix& matrix) {
  for (std::int64_t r = 0; r < kPart.rows; ++r) {
    for (std::int64_t e = 0; e < kPart.elements; ++e) {
      EXPECT_EQ(at(matrix, e, r), static_cast<float>(100 * (kPart.row + r) + kPart.element + e));
    }
  }
}

TEST(HostMatrix, OfDenseRowsIsUsedInPlace) {
  auto values = numbers(10, 6);
  const HostTensor rows = tensor(values, {10, 6, 1, 1}, {4, 40, 240, 240});
  const FloatMatrix matrix = float_matrix(rows, 0, 0, kPart, nullptr);
  EXPECT_EQ(matrix.data, values.data() + 12);
  EXPECT_EQ(matrix.stride, 10);
  EXPECT_FALSE(matrix.transposed);
  expect_part(matrix);
}

TEST(HostMatrix, OfDenseColumnsIsUsedInPlace) {
  std::vector<float> values(60);
  for (int r = 0; r < 6; ++r) {
    for (int e = 0; e < 10; ++e) values[static_cast<std::size_t>(e * 6 + r)] = float(100 * r + e);
  }
  const HostTensor turned = tensor(values, {10, 6, 1, 1}, {24, 4, 240, 240});
  const FloatMatrix matrix = float_matrix(turned, 0, 0, kPart, nullptr);
  EXPECT_TRUE(matrix.transposed);
  EXPECT_EQ(matrix.stride, 6);
  expect_part(matrix);
}

/// With gaps in both directions, and with rows that are all the same one.
TEST(HostMatrix, OfOtherStridesIsCopied) {
  auto values = numbers(20, 6);
  for (float& value : values) value -= static_cast<float>(static_cast<int>(value) % 100) / 2;
  const HostTensor gaps = tensor(values, {10, 6, 1, 1}, {8, 80, 480, 480});
  EXPECT_EQ(float_matrix(gaps, 0, 0, kPart, nullptr).data, nullptr);
  std::vector<float> room(12);
  const FloatMatrix matrix = float_matrix(gaps, 0, 0, kPart, room.data());
  EXPECT_EQ(matrix.data, room.data());
  expect_part(matrix);
  const HostTensor repeated = tensor(values, {10, 6, 1, 1}, {4, 0, 0, 0});
  EXPECT_EQ(float_matrix(repeated, 0, 0, kPart, nullptr).data, nullptr);
}

/// CBLAS has strides of 32 bits.
TEST(HostMatrix, StrideAbove31BitsIsCopied) {
  auto values = numbers(2, 1);
  for (const std::int64_t floats : {std::int64_t{2147483647}, std::int64_t{2147483648}}) {
    for (const bool turned : {false, true}) {
      const HostTensor far = turned ? tensor(values, {2, 2, 1, 1}, {4 * floats, 4, 0, 0})
                                    : tensor(values, {2, 2, 1, 1}, {4, 4 * floats, 0, 0});
      const FloatMatrix matrix = float_matrix(far, 0, 0, {0, 2, 0, 2}, nullptr);
      const bool in_place = floats == 2147483647;
      EXPECT_EQ(matrix.data, in_place ? values.data() : nullptr);
      if (in_place) {
        EXPECT_EQ(matrix.stride, 2147483647);
        EXPECT_EQ(matrix.transposed, turned);
      }
    }
  }
}

/// The strides of a dimension of one are of no account.
TEST(HostMatrix, OfOneRowOrElementIsUsedInPlace) {
  auto values = numbers(10, 1);
  const HostTensor row = tensor(values, {10, 1, 1, 1}, {4, 0, 0, 0});
  const FloatMatrix as_row = float_matrix(row, 0, 0, {0, 10, 0, 1}, nullptr);
  EXPECT_EQ(as_row.data, values.data());
  EXPECT_GE(as_row.stride, as_row.transposed ? 1 : 10);
  const HostTensor column = tensor(values, {1, 10, 1, 1}, {0, 4, 40, 40});
  const FloatMatrix as_column = float_matrix(column, 0, 0, {0, 1, 0, 10}, nullptr);
  EXPECT_EQ(as_column.data, values.data());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(at(as_row, i, 0), float(i));
    EXPECT_EQ(at(as_column, 0, i), float(i));
  }
}

TEST(HostMatrix, OfAnotherTypeIsDecoded) {
  const auto values = numbers(32, 3);
  const DTypeTrait& blocks = trait(DType::kQ8_0);
  std::vector<std::byte> bytes(3 * blocks.block_bytes);
  blocks.encode(values.data(), bytes.data(), 96);
  const auto stride = static_cast<std::int64_t>(blocks.block_bytes);
  const HostTensor quantised = {bytes.data(), DType::kQ8_0, {32, 3, 1, 1}, {stride, stride, 0, 0}};
  EXPECT_EQ(float_matrix(quantised, 0, 0, {0, 32, 1, 2}, nullptr).data, nullptr);
  std::vector<float> room(64);
  const FloatMatrix matrix = float_matrix(quantised, 0, 0, {0, 32, 1, 2}, room.data());
  EXPECT_NEAR(at(matrix, 31, 1), 231, 1);
  EXPECT_NEAR(at(matrix, 0, 0), 100, 1);
}

}  // namespace
}  // namespace shunt::test::backend_support_host_matrix_test
