// `shunt perplexity`, held against the figure of an independent implementation, and against logits
// that a session gives token by token.
#include "shunt/perplexity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(Perplexity, AgreesWithAnIndependentImplementation) {
  SHUNT_NEED_SHARED("data/models/stories.txt");
  // stories.perplexity.txt: 2.7156 with an F32 cache, 2.7154 with F16.
  for (const auto& [cache, expected] : {std::pair("f32", 2.7156), std::pair("f16", 2.7154)}) {
    const RunResult result = run_command(
        {"perplexity", "--model", shared_path("data/models/stories260K.gguf"), "--file",
         shared_path("data/models/stories.txt"), "--ctx", "128", "--cache-type", cache, "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json printed = json::parse(result.out);
    EXPECT_NEAR(printed["perplexity"], expected, 0.0005) << cache;
    EXPECT_EQ(printed["tokens"], printed["chunks"].get<int>() * 63);
  }
}

double perplexity_of_stories(const std::string& cache_type) {
  const RunResult result =
      run_command({"perplexity", "--model", shared_path("data/models/stories260K.gguf"), "--file",
                   shared_path("data/models/stories.txt"), "--ctx", "128", "--cache-type",
                   cache_type, "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.exit_code == 0 ? json::parse(result.out)["perplexity"].get<double>() : 0;
}

TEST(Perplexity, HardlyChangesWithACacheOfBlocks) {
  SHUNT_NEED_SHARED("data/models/stories.txt");
  // A token's keys, of 4 heads of 8, are a single block of Q8_0: it is a hard case.
  EXPECT_NEAR(perplexity_of_stories("bf16") / 2.7156, 1, 0.001);
  EXPECT_NEAR(perplexity_of_stories("q8_0") / 2.7156, 1, 0.01);
}

class PerplexityOfNoise : public testing::Test {
 protected:
  PerplexityOfNoise() {
    auto registry = Registry::create(Options());
    EXPECT_TRUE(registry);
    registry_ = std::move(*registry);
    auto model = Model::load(file_.path(), *registry_);
    EXPECT_TRUE(model) << model.error().message();
    model_ = *model;
    std::mt19937 random(5);
    for (int i = 0; i < 37; ++i) {
      tokens_.push_back(static_cast<std::int32_t>(
          random() % static_cast<std::uint32_t>(model_->info().vocabulary)));
    }
  }

  SynthModel file_;
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<const Model> model_;
  std::vector<std::int32_t> tokens_;
};

TEST_F(PerplexityOfNoise, IsTheMeanOverTheSecondHalvesOfWholeChunks) {
  constexpr std::size_t kChunk = 16;  // two of them; five tokens are left over
  std::vector<double> lost;
  auto session = Session::create(model_, {.context = 64});
  ASSERT_TRUE(session);
  for (std::size_t chunk = 0; chunk < 2; ++chunk) {
    ASSERT_TRUE((*session)->truncate(0));
    for (std::size_t i = 0; i + 1 < kChunk; ++i) {
      const bool first = i == 0 && model_->tokenizer().adds_bos();
      const std::int32_t token = first ? tokens_[0] : tokens_[chunk * kChunk + i];
      const auto logits = (*session)->append({&token, 1});
      ASSERT_TRUE(logits);
      if (i + 1 <= kChunk / 2) continue;  // scored: the predictions of tokens 9 to 15
      double sum = 0;
      for (float logit : *logits) sum += std::exp(static_cast<double>(logit));
      const auto next = static_cast<std::size_t>(tokens_[chunk * kChunk + i + 1]);
      lost.push_back(std::log(sum) - static_cast<double>((*logits)[next]));
    }
  }
  ASSERT_EQ(lost.size(), 14U);
  double mean = 0;
  for (double each : lost) mean += each / 14;
  double variance = 0;
  for (double each : lost) variance += (each - mean) * (each - mean) / 13;

  PerplexityOptions options;
  options.session.context = kChunk;
  std::vector<std::uint64_t> seen;
  options.progress = [&](const Perplexity& so_far, std::uint64_t chunks) {
    EXPECT_EQ(chunks, 2U);
    seen.push_back(so_far.chunks);
  };
  // In batches of all sizes the same.
  for (const std::int64_t batch : {1, 3, 16, 512}) {
    options.session.batch = batch;
    const auto result = perplexity(model_, tokens_, options);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->tokens, 14U);
    EXPECT_NEAR(result->value / std::exp(mean), 1, 1e-4) << batch;
    ASSERT_TRUE(result->error);
    EXPECT_NEAR(*result->error / (std::exp(mean) * std::sqrt(variance / 14)), 1, 1e-3);
  }
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST_F(PerplexityOfNoise, WhatCannotBeScoredIsAnError) {
  PerplexityOptions options;
  options.session.context = 38;
  auto result = perplexity(model_, tokens_, options);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message(), HasSubstr("the text has 37 tokens, but a chunk has 38"));
  options.session.context = 37;
  EXPECT_TRUE(perplexity(model_, tokens_, options));
  options.session.context = 3;
  EXPECT_FALSE(perplexity(model_, tokens_, options));
  options.session.context = 4;
  EXPECT_TRUE(perplexity(model_, tokens_, options));
  tokens_.back() = -1;
  options.session.context = 37;
  EXPECT_FALSE(perplexity(model_, tokens_, options));
}

/// Softmax of logits that are not numbers says nothing; nor does it of a chunk that has one such.
TEST_F(PerplexityOfNoise, LogitsThatAreNotNumbersAreAnErrorThatNamesTheChunk) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    // The embedding of a token of the second chunk.
    const std::int32_t token = tokens_[20];
    ASSERT_EQ(std::count(tokens_.begin(), tokens_.begin() + 16, token), 0);
    const std::string broken = file_.folder().file("broken.gguf");
    write_edited(file_.path(), broken, [&](EditedFile& file) {
      const auto width = static_cast<std::size_t>(model_->info().width);
      file.set_element("token_embd.weight", static_cast<std::size_t>(token) * width, bad);
    });
    const auto model = Model::load(broken, *registry_);
    ASSERT_TRUE(model) << model.error().message();
    PerplexityOptions options;
    options.session.context = 16;
    const auto result = perplexity(*model, tokens_, options);
    ASSERT_FALSE(result) << result->value;
    EXPECT_EQ(result.error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(result.error().message(),
              "chunk 2 of 2: the model's prediction of token 9 is not finite");
    EXPECT_TRUE(perplexity(*model, std::span(tokens_).first(16), options)) << "without that token";
  }
}

class PerplexityCommand : public testing::Test {
 protected:
  RunResult run(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"perplexity", "--model", file_.path()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  }
  SynthModel file_;
};

TEST_F(PerplexityCommand, OfATextTooShortSaysHowManyTokensAndWhatChangesIt) {
  RunResult result = run({"a few words"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              testing::MatchesRegex("shunt: command line: the text has [0-9]+ tokens, but a chunk "
                                    "has 512; use a longer text or a smaller --ctx\n"));
  result = run({"--ctx", "100", "a few words"});
  EXPECT_THAT(result.err, HasSubstr("a chunk has 100; "));
  for (const char* few : {"1", "3"}) {
    result = run({"--ctx", few, "a few words"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("a chunk has at least 4 tokens"));
  }
  result = run({"--ctx", "4", "abcd"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("(1 token scored in 1 chunk)"));
}

TEST_F(PerplexityCommand, OfASingleTokenHasNoErrorBar) {
  const RunResult one = run({"--ctx", "4", "abcd"});
  EXPECT_THAT(one.out, testing::MatchesRegex(
                           "perplexity [0-9]+\\.[0-9]{4} [(]1 token scored in 1 chunk[)]\n"));
  json printed = json::parse(run({"--ctx", "4", "abcd", "--json"}).out);
  EXPECT_TRUE(printed["error"].is_null()) << printed["error"];
  EXPECT_EQ(printed["tokens"], 1);
  const RunResult two = run({"--ctx", "6", "abcdef"});
  EXPECT_THAT(two.out, HasSubstr(" +/- "));
  EXPECT_THAT(two.out, HasSubstr("(2 tokens scored in 1 chunk)"));
  printed = json::parse(run({"--ctx", "6", "abcdef", "--json"}).out);
  EXPECT_GT(printed["error"], 0.0);
}

TEST_F(PerplexityCommand, OfPredictionsThatAreNotNumbersPrintsNone) {
  const std::string broken = file_.folder().file("broken.gguf");
  write_edited(file_.path(), broken, [](EditedFile& file) {
    file.set_element("output_norm.weight", 0, std::numeric_limits<float>::quiet_NaN());
  });
  const RunResult result =
      run_command({"perplexity", "-m", broken, "--ctx", "4", "abcdefgh", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, testing::ContainsRegex("broken.gguf: chunk 1 of [0-9]+: the model's "
                                                 "prediction of token 3 is not finite"));
}

TEST_F(PerplexityOfNoise, CancellingEndsIt) {
  std::atomic<bool> cancel = true;
  PerplexityOptions options;
  options.session.context = 16;
  options.cancel = &cancel;
  const auto result = perplexity(model_, tokens_, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace shunt::test
