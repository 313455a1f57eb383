// Masks for a device whose numbers have no infinity.
#include "backend_support/score_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace shunt::test::backend_support_score_mask_test {
namespace {

using testing::ElementsAre;
constexpr float kHides = -std::numeric_limits<float>::infinity();
constexpr float kLowest = -65504;

HostTensor mask_of(std::vector<float>& values, const Sizes& sizes) {
  const std::int64_t row = sizes[0] * 4;
  const std::int64_t matrix = row * sizes[1];
  return {reinterpret_cast<std::byte*>(values.data()),
          DType::kF32,
          sizes,
          {4, row, matrix, matrix * sizes[2]}};
}

TEST(ScoreMask, HasAMatrixPerHeadOnlyWithAlibiSlopes) {
  EXPECT_EQ(mask_sizes({5, 3, 1, 2}, {5, 3, 8, 2}, 0), (Sizes{5, 3, 1, 2}));
  EXPECT_EQ(mask_sizes({5, 3, 1, 2}, {5, 3, 8, 2}, 8), (Sizes{5, 3, 8, 2}));
}

/// ALiBi's paper: of 2 heads and a largest bias of 8, slopes of 2^-4 and 2^-8.
TEST(ScoreMask, IsScaledByTheAlibiSlopeOfEachHead) {
  std::vector<float> values = {-16, -256};
  std::vector<float> to(4);
  repeat_mask(mask_of(values, {2, 1, 1, 1}), {2, 1, 2, 1}, 8, to.data());
  EXPECT_THAT(to, ElementsAre(-1, -16, -0.0625F, -1));
  repeat_mask(mask_of(values, {2, 1, 1, 1}), {2, 1, 2, 1}, 0, to.data());
  EXPECT_THAT(to, ElementsAre(-16, -256, -16, -256));
}

TEST(ScoreMask, MissingMaskIsZeros) {
  std::vector<float> to(4, 7);
  repeat_mask({}, {2, 2, 1, 1}, 8, to.data());
  EXPECT_THAT(to, ElementsAre(0, 0, 0, 0));
}

TEST(ScoreMask, ScoresAreAddedMinusTheMaximumOfTheRow) {
  std::vector<float> scores = {1, 2, 3, 4, 6, 0};
  std::array mask = {0.0F, 0.0F, 0.0F, -1.0F, -1.0F, kHides};
  std::array<float, 3> row = {};
  add_scores(mask_of(scores, {3, 2, 1, 1}), 2, row.data(), mask.data());
  EXPECT_THAT(mask, ElementsAre(-4, -2, 0, -4, 0, kHides));
}

TEST(ScoreMask, MaskedElementsBecomeTheLowestNumber) {
  std::array mask = {0.0F, kHides, -1e9F, kLowest, -65503.0F, 2.0F, kHides, kHides};
  const Hidden hidden = hide({2, 4, 1, 1}, mask.data(), kLowest);
  EXPECT_TRUE(hidden.some);
  EXPECT_THAT(hidden.rows, ElementsAre(3)) << "a row of finite numbers is not hidden as a whole";
  EXPECT_THAT(mask, ElementsAre(0, kLowest, kLowest, kLowest, -65503, 2, kLowest, kLowest));
  keep_shown({2, 4, 1, 1}, mask.data(), kLowest);
  EXPECT_THAT(mask, ElementsAre(1, 0, 0, 0, 1, 1, 0, 0));
}

TEST(ScoreMask, MaskWithoutMaskedElementsStays) {
  std::array mask = {0.0F, -5.0F};
  const Hidden hidden = hide({2, 1, 1, 1}, mask.data(), kLowest);
  EXPECT_FALSE(hidden.some);
  EXPECT_THAT(hidden.rows, testing::IsEmpty());
  EXPECT_THAT(mask, ElementsAre(0, -5));
}

TEST(ScoreMask, FullyMaskedRowsAreZeroed) {
  std::array<float, 6> to = {};
  keep_rows({2, 3, 1, 1}, {0, 2}, to.data());
  EXPECT_THAT(to, ElementsAre(0, 0, 1, 1, 0, 0));
}

}  // namespace
}  // namespace shunt::test::backend_support_score_mask_test
