#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "shunt/engine.h"

namespace shunt::engine_sampler_test {
namespace {

/// Every switch off: plain sampling.
SamplingOptions plain(float temperature = 1) {
  return {.temperature = temperature, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 1};
}

/// How often each token is picked in n draws.
std::map<std::int32_t, int> draws(SamplingOptions options, const std::vector<float>& logits,
                                  int n) {
  auto sampler = Sampler::create(options);
  EXPECT_TRUE(sampler);
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < n; ++i) ++counts[*sampler->pick(logits)];
  return counts;
}

TEST(Sampler, TemperatureZeroPicksTheMostLikelyToken) {
  auto sampler = Sampler::create(plain(0));
  EXPECT_EQ(*sampler->pick(std::vector<float>{1, 5, 3}), 1);
  EXPECT_EQ(*sampler->pick(std::vector<float>{2, 2, 2}), 0);  // the first of equals
}

TEST(Sampler, DrawsInProportionToTheSoftmax) {
  // exp(logits) is in the ratio 1 : 2 : 5.
  const std::vector<float> logits = {0, std::log(2.0F), std::log(5.0F)};
  const int n = 40000;
  const auto counts = draws(plain(), logits, n);
  // Four standard deviations of a binomial count.
  const auto near = [&](std::int32_t token, double p) {
    EXPECT_NEAR(counts.at(token), n * p, 4 * std::sqrt(n * p * (1 - p))) << token;
  };
  near(0, 1.0 / 8);
  near(1, 2.0 / 8);
  near(2, 5.0 / 8);
}

TEST(Sampler, TemperatureDividesLogits) {
  // At temperature 2 the ratio 1 : 16 becomes 1 : 4.
  const int n = 40000;
  const auto counts = draws(plain(2), {0, std::log(16.0F)}, n);
  EXPECT_NEAR(counts.at(0), n / 5.0, 4 * std::sqrt(n * 0.2 * 0.8));
}

TEST(Sampler, TopKTopPAndMinPCutTheTail) {
  // Probabilities 0.5, 0.3, 0.15, 0.05.
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F),
                                     std::log(0.05F)};
  SamplingOptions options = plain();
  options.top_k = 2;
  EXPECT_EQ(draws(options, logits, 2000).size(), 2U);
  options = plain();
  options.top_p = 0.79F;  // the first two reach 0.8
  EXPECT_EQ(draws(options, logits, 2000).size(), 2U);
  options.top_p = 0.81F;
  EXPECT_EQ(draws(options, logits, 2000).size(), 3U);
  options.top_p = 0;  // never nothing
  EXPECT_EQ(draws(options, logits, 100).size(), 1U);
  options = plain();
  options.min_p = 0.29F;  // 0.15 is 0.3 of 0.5; 0.05 is 0.1
  EXPECT_EQ(draws(options, logits, 2000).size(), 3U);
  options.min_p = 0.31F;
  EXPECT_EQ(draws(options, logits, 2000).size(), 2U);
}

TEST(Sampler, PenaltiesCountRecentTokensOnly) {
  SamplingOptions options = plain(0);
  options.repeat_penalty = 2;
  options.penalty_last = 2;
  auto sampler = Sampler::create(options);
  sampler->accept(1);
  EXPECT_EQ(*sampler->pick(std::vector<float>{3, 5, -9}), 0);    // 5 / 2 is less than 3
  EXPECT_EQ(*sampler->pick(std::vector<float>{-3, -2, -9}), 0);  // -2 * 2 is less than -3
  sampler->accept(0);
  sampler->accept(0);  // token 1 is out of the window
  EXPECT_EQ(*sampler->pick(std::vector<float>{3, 5, -9}), 1);

  options = plain(0);
  options.frequency_penalty = 1;
  options.presence_penalty = 0.5F;
  sampler = Sampler::create(options);
  sampler->accept(1);
  sampler->accept(1);
  EXPECT_EQ(*sampler->pick(std::vector<float>{3, 5.4F, -9}), 0);  // 5.4 - 2 * 1 - 0.5 = 2.9
  EXPECT_EQ(*sampler->pick(std::vector<float>{3, 5.6F, -9}), 1);
}

TEST(Sampler, SameSeedGivesTheSameTokens) {
  std::vector<float> logits(100);
  for (std::size_t i = 0; i < 100; ++i) logits[i] = static_cast<float>(i % 7);
  SamplingOptions options;
  options.seed = 42;
  auto a = Sampler::create(options);
  auto b = Sampler::create(options);
  options.seed = 43;
  auto c = Sampler::create(options);
  int differing = 0;
  for (int i = 0; i < 100; ++i) {
    const auto token = *a->pick(logits);
    EXPECT_EQ(token, *b->pick(logits));
    differing += token != *c->pick(logits) ? 1 : 0;
  }
  EXPECT_GT(differing, 0);
}

TEST(Sampler, NaNAndMinusInfinityAreNeverPicked) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  auto sampler = Sampler::create(plain());
  EXPECT_EQ(*sampler->pick(std::vector<float>{nan, -infinity, 1, nan}), 2);
  EXPECT_EQ(*sampler->pick(std::vector<float>{1, infinity, 2}), 1);
  EXPECT_FALSE(sampler->pick(std::vector<float>{nan, -infinity}));
  EXPECT_FALSE(sampler->pick(std::vector<float>{}));
}

TEST(Sampler, RejectsOptionsOutOfRangeByName) {
  const auto message = [](SamplingOptions options) {
    const auto sampler = Sampler::create(options);
    return sampler ? std::string("accepted") : sampler.error().message();
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  using ::testing::HasSubstr;
  EXPECT_THAT(message({.temperature = -1}), HasSubstr("temperature"));
  EXPECT_THAT(message({.temperature = nan}), HasSubstr("temperature"));
  EXPECT_THAT(message({.top_k = -1}), HasSubstr("top-k"));
  EXPECT_THAT(message({.top_p = 1.1F}), HasSubstr("top-p"));
  EXPECT_THAT(message({.min_p = -0.1F}), HasSubstr("min-p"));
  EXPECT_THAT(message({.repeat_penalty = 0}), HasSubstr("repetition"));
  EXPECT_THAT(message({.penalty_last = -1}), HasSubstr("recent"));
}

}  // namespace
}  // namespace shunt::engine_sampler_test
