// softmax, rope and attention by hand.
#include <cmath>
#include <numbers>

#include "unit/ops/values.h"

namespace shunt::ops_attention_test {
namespace {

using testing::Each;
using testing::ElementsAre;

RefTensor softmax_of(const Leaf& x, float scale = 1) {
  return evaluate({x}, [=](GraphBuilder& g, const Values& v) {
    return softmax(g, v[0], absent(), {.scale = scale});
  });
}

RefTensor softmax_of(const Leaf& x, const Leaf& mask) {
  return evaluate({x, mask},
                  [](GraphBuilder& g, const Values& v) { return softmax(g, v[0], v[1]); });
}

TEST(Softmax, OfEqualValuesIsUniform) {
  EXPECT_THAT(softmax_of({.sizes = {4, 1, 1, 1}, .data = {7, 7, 7, 7}}).data, Each(0.25));
  EXPECT_THAT(softmax_of({.sizes = {2, 1, 1, 1}, .data = {1000, 1000}}).data, Each(0.5));
}

TEST(Softmax, TakesEachRowByItself) {
  const double ln3 = std::log(3);
  EXPECT_THAT(softmax_of({.sizes = {2, 2, 1, 1}, .data = {0, ln3, 5, 5}}).data,
              is_near({0.25, 0.75, 0.5, 0.5}));
  EXPECT_THAT(softmax_of({.sizes = {2, 1, 1, 1}, .data = {0, ln3 / 2}}, 2).data,
              is_near({0.25, 0.75}));
}

TEST(Softmax, IgnoresMaskedElements) {
  const Leaf x = {.sizes = {3, 2, 2, 1}, .data = std::vector<double>(12, 1)};
  const Leaf mask = {.sizes = {3, 2, 1, 1}, .data = {0, -kInfinity, 0, 0, -kInfinity, -kInfinity}};
  EXPECT_THAT(softmax_of(x, mask).data, ElementsAre(.5, 0, .5, 1, 0, 0, .5, 0, .5, 1, 0, 0));
}

TEST(Softmax, OfAFullyMaskedRowIsZero) {
  const Leaf x = {.sizes = {2, 1, 1, 1}, .data = {1, 2}};
  const Leaf mask = {.sizes = {2, 1, 1, 1}, .data = {-kInfinity, -kInfinity}};
  EXPECT_THAT(softmax_of(x, mask).data, Each(0));
}

RefTensor softmax_of(const std::vector<Leaf>& x_mask_sinks, const SoftmaxParams& params) {
  return evaluate(x_mask_sinks, [&](GraphBuilder& g, const Values& v) {
    return softmax(g, v[0], v[1], params, v.size() > 2 ? v[2] : absent());
  });
}

TEST(Softmax, AttentionSinkReducesTheOtherWeights) {
  // One query of two heads, with sinks of weights 2 and 0.
  const Leaf x = {.sizes = {2, 1, 2, 1}, .data = {0, 0, 0, 0}};
  const Leaf mask = {.sizes = {2, 1, 2, 1}, .data = {0, 0, 0, -kInfinity}};
  const Leaf sinks = {.sizes = {2, 1, 1, 1}, .data = {std::log(2), -kInfinity}};
  EXPECT_THAT(softmax_of({x, mask, sinks}, {}).data, is_near({.25, .25, 1, 0}));
}

TEST(Softmax, WithASinkOfAFullyMaskedRowIsZero) {
  const Leaf x = {.sizes = {2, 1, 1, 1}, .data = {1, 2}};
  const Leaf mask = {.sizes = {2, 1, 1, 1}, .data = {-kInfinity, -kInfinity}};
  EXPECT_THAT(softmax_of({x, mask, {.sizes = {1, 1, 1, 1}, .data = {3}}}, {}).data, Each(0));
}

TEST(Softmax, MultipliesTheMaskByEachHeadsSlope) {
  // Two heads: slopes 2^-4 and 2^-8.
  const Leaf x = {.sizes = {2, 1, 2, 1}, .data = {0, 0, 0, 0}};
  const Leaf mask = {.sizes = {2, 1, 1, 1}, .data = {0, -256 * std::log(3)}};
  EXPECT_THAT(softmax_of({x, mask}, {.max_bias = 8}).data,
              is_near({1, std::pow(3, -16), .75, .25}));
}

TEST(Alibi, HasTheSlopesOfThePaper) {
  // arXiv 2108.12409: for 8 heads 1/2, 1/4 and so on; for 16 the powers of 2^-0.5.
  for (int head = 0; head < 8; ++head) {
    EXPECT_DOUBLE_EQ(alibi_slope(8, 8, head), std::pow(2, -(head + 1)));
  }
  for (int head = 0; head < 16; ++head) {
    EXPECT_DOUBLE_EQ(alibi_slope(8, 16, head), std::pow(2, -0.5 * (head + 1)));
  }
  EXPECT_DOUBLE_EQ(alibi_slope(8, 1, 0), 1.0 / 256);
}

TEST(Alibi, InterpolatesSlopesIfHeadsAreNoPowerOfTwo) {
  // 12 heads, as in the paper's code: the 8 of 8 heads, then the 1st, 3rd, 5th and 7th of 16.
  for (int head = 0; head < 8; ++head) {
    EXPECT_DOUBLE_EQ(alibi_slope(8, 12, head), std::pow(2, -(head + 1)));
  }
  const double last[] = {-0.5, -1.5, -2.5, -3.5};
  for (int i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(alibi_slope(8, 12, 8 + i), std::pow(2, last[i]));
}

TEST(Alibi, IsOffWithoutAMaxBias) {
  EXPECT_EQ(alibi_slope(0, 8, 5), 1);
  EXPECT_EQ(alibi_slope(0, 0, 0), 1);
}

/// Rows of one head at the positions; the factors are left out if there are none.
RefTensor rotate(const std::vector<double>& row, const std::vector<double>& positions,
                 const RopeParams& params, const std::vector<double>& factors = {}) {
  const auto d = static_cast<std::int64_t>(row.size());
  const auto t = static_cast<std::int64_t>(positions.size());
  Leaf x = {.sizes = {d, 1, t, 1}, .data = {}};
  for (std::int64_t i = 0; i < t; ++i) x.data.insert(x.data.end(), row.begin(), row.end());
  std::vector<Leaf> leaves = {x, {DType::kI32, {t, 1, 1, 1}, positions}};
  if (!factors.empty()) {
    leaves.push_back(
        {.sizes = {static_cast<std::int64_t>(factors.size()), 1, 1, 1}, .data = factors});
  }
  return evaluate(leaves, [&](GraphBuilder& g, const Values& v) {
    return rope(g, v[0], v[1], v.size() > 2 ? v[2] : absent(), params);
  });
}

TEST(Rope, TurnsTheFirstPairByOneRadianAPosition) {
  const auto y = rotate({1, 0}, {0, 1, 2}, {.dims = 2});
  EXPECT_THAT(y.data, is_near({1, 0, std::cos(1), std::sin(1), std::cos(2), std::sin(2)}));
}

TEST(Rope, TurnsLaterPairsSlower) {
  // 100^(-2/4) = 0.1
  const RopeParams params = {.dims = 4, .freq_base = 100};
  EXPECT_THAT(rotate({0, 0, 0, 1}, {3}, params).data,
              is_near({0, 0, -std::sin(0.3), std::cos(0.3)}));
}

TEST(Rope, PairsNeighborsOrHalves) {
  EXPECT_THAT(rotate({1, 0, 0, 0}, {1}, {.dims = 4, .mode = RopeMode::kNormal}).data,
              is_near({std::cos(1), std::sin(1), 0, 0}));
  EXPECT_THAT(rotate({1, 0, 0, 0}, {1}, {.dims = 4, .mode = RopeMode::kNeox}).data,
              is_near({std::cos(1), 0, std::sin(1), 0}));
}

TEST(Rope, CopiesDimensionsBeyondDims) {
  for (RopeMode mode : {RopeMode::kNormal, RopeMode::kNeox}) {
    EXPECT_THAT(rotate({1, 0, 5, 6, 7}, {1}, {.dims = 2, .mode = mode, .attn_factor = 2}).data,
                is_near({2 * std::cos(1), 2 * std::sin(1), 5, 6, 7}));
  }
}

TEST(Rope, DividesAnglesByTheFactorsAndScalesThem) {
  EXPECT_THAT(rotate({1, 0}, {3}, {.dims = 2}, {2}).data, is_near({std::cos(1.5), std::sin(1.5)}));
  EXPECT_THAT(rotate({1, 0}, {3}, {.dims = 2, .freq_scale = 0.5F}).data,
              is_near({std::cos(1.5), std::sin(1.5)}));
}

TEST(Rope, YarnExtrapolatesFastPairsAndInterpolatesSlowOnes) {
  // In 2048 tokens pair 8.06 makes 32 turns and pair 20.1 makes one, so that the ramp is from 8
  // to 21.
  const RopeParams params = {
      .dims = 64, .freq_scale = 0.25F, .ext_factor = 1, .original_context = 2048};
  const auto plain = [](double i) { return std::pow(10000, -i / 32); };
  EXPECT_NEAR(rope_frequency(params, 0), 1, 1e-12);
  EXPECT_NEAR(rope_frequency(params, 8), plain(8), 1e-12);
  EXPECT_NEAR(rope_frequency(params, 10), plain(10) * (11.0 / 13 + 0.25 * 2 / 13), 1e-12);
  EXPECT_NEAR(rope_frequency(params, 21), plain(21) / 4, 1e-12);
  EXPECT_NEAR(rope_frequency(params, 31), plain(31) / 4, 1e-12);
  EXPECT_NEAR(rope_magnitude(params), 1 + 0.1 * 2 * std::numbers::ln2, 1e-12);
  std::vector<double> row(64);
  row[0] = 1;
  const auto y = rotate(row, {1}, params);
  EXPECT_NEAR(y.data[0], 1.1386294 * std::cos(1), 1e-6);
}

/// One row of one head at positions (time, row, column, another).
std::vector<double> rotate_in_sections(const std::vector<double>& row,
                                       const std::vector<double>& positions,
                                       const RopeParams& params) {
  const Leaf x = {.sizes = {static_cast<std::int64_t>(row.size()), 1, 1, 1}, .data = row};
  return evaluate({x, {DType::kI32, {1, 4, 1, 1}, positions}},
                  [&](GraphBuilder& g, const Values& v) {
                    return rope(g, v[0], v[1], absent(), params);
                  })
      .data;
}

TEST(Rope, TurnsEachSectionByItsOwnPosition) {
  // Pairs (i, i + 4), of which pair i turns by 10000^(-i / 4) = 10^-i a position; the first by the
  // time, two by the row, the last by the column.
  const auto y =
      rotate_in_sections({1, 1, 1, 1, 0, 0, 0, 0}, {3, 20, 500, 7},
                         {.dims = 8, .mode = RopeMode::kMulti, .sections = {1, 2, 1, 0}});
  EXPECT_THAT(y, is_near({std::cos(3), std::cos(2), std::cos(.2), std::cos(.5), std::sin(3),
                          std::sin(2), std::sin(.2), std::sin(.5)}));
}

TEST(Rope, WithEqualSectionPositionsEqualsNeox) {
  const std::vector<double> row = {1, -2, 3, 4, .5, 6, 7, -8, 9};
  const RopeParams params = {.dims = 8, .mode = RopeMode::kMulti, .sections = {1, 2, 1, 0}};
  EXPECT_THAT(rotate_in_sections(row, {5, 5, 5, 5}, params),
              is_near(rotate(row, {5}, {.dims = 8, .mode = RopeMode::kNeox}).data));
}

TEST(Rope, VisionRestartsFrequenciesInEachSection) {
  // Rows and columns of a picture: 10000^(-j / 2) = 100^-j, j from 0 in both.
  const auto y =
      rotate_in_sections({1, 1, 1, 1, 0, 0, 0, 0}, {3, 20, 0, 0},
                         {.dims = 8, .mode = RopeMode::kVision, .sections = {2, 2, 0, 0}});
  EXPECT_THAT(y, is_near({std::cos(3), std::cos(.03), std::cos(20), std::cos(.2), std::sin(3),
                          std::sin(.03), std::sin(20), std::sin(.2)}));
}

RefTensor attend(const std::vector<Leaf>& leaves, const AttentionParams& params, bool masked) {
  return evaluate(leaves, [&](GraphBuilder& g, const Values& v) {
    return attention(g, v[0], v[1], v[2], masked ? v[3] : absent(), params,
                     masked || v.size() < 4 ? absent() : v[3]);
  });
}

RefTensor attend(const std::vector<Leaf>& leaves, float scale = 1) {
  return evaluate(leaves, [=](GraphBuilder& g, const Values& v) {
    return attention(g, v[0], v[1], v[2], v.size() > 3 ? v[3] : absent(), {.scale = scale});
  });
}

TEST(Attention, ToOneKeyGivesItsValue) {
  const auto y = attend({{.sizes = {2, 1, 1, 1}, .data = {3, -4}},
                         {.sizes = {2, 1, 1, 1}, .data = {5, 6}},
                         {.sizes = {3, 1, 1, 1}, .data = {7, 8, 9}}});
  EXPECT_EQ(y.sizes, (Sizes{3, 1, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(7, 8, 9));
}

TEST(Attention, WeighsValuesByTheSoftmaxOfTheScores) {
  // Scores 0 and 0.5 * 2 * ln 3: weights 1/4 and 3/4.
  const auto y = attend({{.sizes = {1, 1, 1, 1}, .data = {2}},
                         {.sizes = {1, 1, 2, 1}, .data = {0, std::log(3)}},
                         {.sizes = {1, 1, 2, 1}, .data = {100, 200}}},
                        0.5F);
  EXPECT_THAT(y.data, is_near({175}));
}

TEST(Attention, SharesAKvHeadAmongAGroupOfHeads) {
  const auto y = attend({{.sizes = {1, 4, 1, 1}, .data = {1, 2, 3, 4}},
                         {.sizes = {1, 2, 1, 1}, .data = {1, 1}},
                         {.sizes = {1, 2, 1, 1}, .data = {10, 20}}});
  EXPECT_THAT(y.data, ElementsAre(10, 10, 20, 20));
}

TEST(Attention, KeepsSequencesApart) {
  const auto y = attend({{.sizes = {1, 1, 1, 2}, .data = {1, 1}},
                         {.sizes = {1, 1, 1, 2}, .data = {1, 1}},
                         {.sizes = {1, 1, 1, 2}, .data = {10, 20}}});
  EXPECT_THAT(y.data, ElementsAre(10, 20));
}

TEST(Attention, AppliesTheMaskAndGivesZeroForFullyMaskedRows) {
  const Leaf mask = {DType::kF16, {2, 3, 1, 1}, {0, -kInfinity, 0, 0, -kInfinity, -kInfinity}};
  const auto y = attend({{.sizes = {1, 1, 3, 1}, .data = {0, 0, 0}},
                         {.sizes = {1, 1, 2, 1}, .data = {1, 1}},
                         {.sizes = {1, 1, 2, 1}, .data = {10, 20}},
                         mask});
  EXPECT_THAT(y.data, ElementsAre(10, 15, 0));
}

TEST(Attention, SoftcapsScores) {
  // 2 tanh(30 / 2) is 2, and 0 stays 0.
  const auto y = attend({{.sizes = {1, 1, 1, 1}, .data = {30}},
                         {.sizes = {1, 1, 2, 1}, .data = {0, 1}},
                         {.sizes = {1, 1, 2, 1}, .data = {0, 1}}},
                        {.softcap = 2}, false);
  EXPECT_THAT(y.data, is_near({std::exp(2) / (1 + std::exp(2))}));
}

TEST(Attention, AppliesSoftcapAfterScaleAndBeforeTheMask) {
  // tanh(2 * 1) + mask 0, against tanh(0) + ln 3.
  const Leaf mask = {.sizes = {2, 1, 1, 1}, .data = {0, std::log(3)}};
  const auto y = attend({{.sizes = {1, 1, 1, 1}, .data = {1}},
                         {.sizes = {1, 1, 2, 1}, .data = {1, 0}},
                         {.sizes = {1, 1, 2, 1}, .data = {1, 0}},
                         mask},
                        {.scale = 2, .softcap = 1}, true);
  const double first = std::exp(std::tanh(2.0));
  EXPECT_THAT(y.data, is_near({first / (first + 3)}));
}

TEST(Attention, MultipliesTheMaskByEachHeadsSlope) {
  // Two heads: slopes 2^-4 and 2^-8.
  const auto y = attend({{.sizes = {1, 2, 1, 1}, .data = {0, 0}},
                         {.sizes = {1, 1, 2, 1}, .data = {1, 1}},
                         {.sizes = {1, 1, 2, 1}, .data = {0, 1}},
                         {.sizes = {2, 1, 1, 1}, .data = {0, -256 * std::log(3)}}},
                        {.max_bias = 8}, true);
  EXPECT_THAT(y.data, is_near({1 / (std::pow(3, 16) + 1), .25}, 1e-12));
}

TEST(Attention, AttentionSinkTakesItsShare) {
  // Of two heads, the second has a sink as heavy as its two keys.
  const auto y = attend({{.sizes = {1, 2, 1, 1}, .data = {0, 0}},
                         {.sizes = {1, 1, 2, 1}, .data = {1, 1}},
                         {.sizes = {1, 1, 2, 1}, .data = {10, 20}},
                         {.sizes = {2, 1, 1, 1}, .data = {-kInfinity, std::log(2)}}},
                        {}, false);
  EXPECT_THAT(y.data, is_near({15, 7.5}));
}

TEST(Attention, WithoutKeysIsZero) {
  const auto y = attend({{.sizes = {2, 1, 1, 1}, .data = {1, 2}},
                         {.sizes = {2, 1, 0, 1}, .data = {}},
                         {.sizes = {2, 1, 0, 1}, .data = {}}});
  EXPECT_THAT(y.data, ElementsAre(0, 0));
}

}  // namespace
}  // namespace shunt::ops_attention_test
