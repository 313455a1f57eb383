// Weights as 8-bit numbers with one scale.
#include "backend_support/int8_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace shunt::test::backend_support_int8_weights_test {
namespace {

using testing::ElementsAre;

struct Rows {
  explicit Rows(std::vector<float> of) : values(std::move(of)) {}
  HostTensor tensor() {
    return {
        reinterpret_cast<std::byte*>(values.data()), DType::kF32, {3, 2, 1, 1}, {4, 12, 24, 24}};
  }
  std::optional<float> quantize(const MatrixPart& part = {0, 3, 0, 2}) {
    numbers.assign(static_cast<std::size_t>(part.elements * part.rows), 99);
    return quantize_int8(tensor(), part, row.data(), numbers.data());
  }
  std::vector<float> values;
  std::vector<std::int8_t> numbers;
  std::vector<float> row = std::vector<float>(3);
};

TEST(Int8Weights, ScalesTheLargestTo127AndTransposesRows) {
  Rows rows({1, -2, 3, 254, 100.9F, -254});
  EXPECT_EQ(rows.quantize(), 2.0F);
  // 0.5 and 1.5 away from zero, as std::lround has it.
  EXPECT_THAT(rows.numbers, ElementsAre(1, 127, -1, 50, 2, -127));
}

TEST(Int8Weights, EachPartHasItsOwnScale) {
  Rows rows({1, -2, 3, 254, 127, -63.6F});
  EXPECT_EQ(rows.quantize({1, 2, 1, 1}), 1.0F);
  EXPECT_THAT(rows.numbers, ElementsAre(127, -64));
}

TEST(Int8Weights, OfZerosHaveAScaleOfOne) {
  Rows rows({0, 0, 0, 0, 0, 0});
  EXPECT_EQ(rows.quantize(), 1.0F);
  EXPECT_THAT(rows.numbers, testing::Each(0));
}

TEST(Int8Weights, QuantizeFailsWithoutAFiniteNormalScale) {
  EXPECT_FALSE(Rows({1, 2, NAN, 4, 5, 6}).quantize());
  EXPECT_FALSE(Rows({1, 2, 3, 4, -std::numeric_limits<float>::infinity(), 6}).quantize());
  // The smallest normal number is 2^-126, and 127 times that is 1.4929e-36.
  EXPECT_FALSE(Rows({1.492e-36F, 0, 0, 0, 0, 0}).quantize()) << "the scale is no normal number";
  EXPECT_TRUE(Rows({1.493e-36F, 0, 0, 0, 0, 0}).quantize());
}

TEST(Int8Weights, CostIsTheSumOfSquaredErrors) {
  Rows rows({3, 4, 0, 1, 2, 2});
  LossyCost cost;
  cost.squares = 10;
  add_lossy_cost(
      rows.tensor(), {0, 2, 0, 2}, rows.row.data(),
      [](std::int64_t e, std::int64_t r) { return e == 1 && r == 0 ? 6.0F
                                                  : r == 0         ? 3.0F
                                                                   : 1.0F; },
      cost);
  EXPECT_EQ(cost.squares, 10 + 9 + 16 + 1 + 4);
  EXPECT_EQ(cost.squared_error, 4 + 1);
}

}  // namespace
}  // namespace shunt::test::backend_support_int8_weights_test
