// Scales are told apart by their shape, not by their number.
#include "convert/scale_form.h"

#include <gtest/gtest.h>

namespace shunt::test::convert_scale_form_test {
namespace {

using Form = std::optional<ScaleForm>;
using Sizes = std::vector<std::int64_t>;

Form of(const Sizes& shape, const ScaledMatrices& scaled, const Sizes& block) {
  return scale_form(StoredType::kF32, shape, scaled, block);
}

/// Four blocks of a matrix with four rows.
TEST(ConvertScaleForm, OfAsManyBlocksAsRowsIsThatOfBlocks) {
  const ScaledMatrices scaled = {.matrices = 1, .rows = 4, .columns = 4};
  EXPECT_EQ(of({2, 2}, scaled, {2, 2}), Form({2, 2}));
  EXPECT_EQ(of({4}, scaled, {2, 2}), Form({1, 0}));
  EXPECT_EQ(of({4, 1}, scaled, {2, 2}), Form({1, 0}));
  EXPECT_EQ(of({}, scaled, {2, 2}), Form({0, 0}));
  EXPECT_EQ(of({1, 1}, scaled, {2, 2}), Form({0, 0}));
  EXPECT_EQ(of({1, 4}, scaled, {2, 2}), Form());
  // Of DeepSeek V3.
  const ScaledMatrices large = {.matrices = 1, .rows = 7168, .columns = 16384};
  EXPECT_EQ(of({56, 128}, large, {128, 128}), Form({128, 128}));
}

TEST(ConvertScaleForm, OfAStackHasMatricesInFront) {
  const ScaledMatrices scaled = {.matrices = 3, .rows = 6, .columns = 8, .stacked = true};
  EXPECT_EQ(of({3, 2, 2}, scaled, {4, 4}), Form({4, 4}));
  EXPECT_EQ(of({3, 6}, scaled, {4, 4}), Form({1, 0}));
  EXPECT_EQ(of({3, 6, 1}, scaled, {4, 4}), Form({1, 0}));
  EXPECT_EQ(of({18}, scaled, {4, 4}), Form({1, 0}));
  EXPECT_EQ(of({3}, scaled, {4, 4}), Form({0, 0}));
  EXPECT_EQ(of({1}, scaled, {4, 4}), Form());
  // Blocks with rows of two matrices can't be read.
  EXPECT_EQ(of({6, 2}, scaled, {4, 4}), Form());
  EXPECT_EQ(of({9, 2}, scaled, {2, 4}), Form({2, 4}));
}

TEST(ConvertScaleForm, NeedsNumbersOfAScale) {
  const ScaledMatrices scaled = {.matrices = 1, .rows = 4, .columns = 4};
  EXPECT_EQ(scale_form(StoredType::kI32, {4}, scaled, {2, 2}), Form());
  EXPECT_EQ(scale_form(StoredType::kF8E8M0, {4}, scaled, {2, 2}), Form({1, 0}));
}

}  // namespace
}  // namespace shunt::test::convert_scale_form_test
