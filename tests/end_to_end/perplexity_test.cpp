// `shunt perplexity`, compared with the figure of an independent implementation, and with logits
// that a session gives token by token.
#include "shunt/perplexity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "support/stories.h"

namespace shunt::test::perplexity_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json perplexity_of(const std::string& model, const std::string& text,
                   std::vector<std::string> more) {
  std::vector<std::string> words = {"perplexity", "--model", model, "--file", text, "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const RunResult result = run_command(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.exit_code == 0 ? json::parse(result.out) : json();
}

/// The same text without where its documents end.
std::string plain_text(const TempFolder& folder) {
  const std::string end = "<|end|>\n";
  std::string text = read_file(stories_text_path());
  for (std::size_t at; (at = text.find(end)) != std::string::npos;) text.erase(at, end.size());
  return folder.write("plain.txt", std::as_bytes(std::span(text)));
}

/// The values are those of numpy, in double precision.
TEST(Perplexity, AgreesWithAnIndependentImplementation) {
  const TempFolder folder;
  const F32Stories model;
  const auto expected = stories_value<double>("chunk_perplexity");
  for (const auto& [cache, bound] : {std::pair("f32", 1e-4), std::pair("f16", 2e-4)}) {
    const json printed =
        perplexity_of(model.path(), plain_text(folder), {"--ctx", "128", "--cache-type", cache});
    EXPECT_NEAR(printed["perplexity"].get<double>() / expected, 1, bound) << cache;
    EXPECT_EQ(printed["tokens"], printed["chunks"].get<int>() * 63);
  }
}

TEST(Perplexity, OfDocumentsAgreesWithAnIndependentImplementation) {
  const F32Stories model;
  const json printed =
      perplexity_of(model.path(), stories_text_path(), {"--documents", "--cache-type", "f32"});
  EXPECT_EQ(printed["documents"], stories_value<double>("documents"));
  EXPECT_EQ(printed["tokens"], stories_value<double>("scored"));
  EXPECT_NEAR(printed["perplexity"].get<double>() / stories_value<double>("perplexity"), 1, 1e-4);
  // The text without its lines of ends, and the line ends before them.
  const std::size_t bytes =
      read_file(stories_text_path()).size() -
      static_cast<std::size_t>(stories_value<double>("documents")) * std::strlen("\n<|end|>\n");
  EXPECT_NEAR(printed["bits_per_byte"].get<double>() * static_cast<double>(bytes) /
                  stories_value<double>("bits"),
              1, 1e-4);
  EXPECT_THAT(run_command({"perplexity", "--model", model.path(), "--file", stories_text_path(),
                           "--documents"})
                  .out,
              testing::ContainsRegex("in 12 documents; 0\\.[0-9]+ bits per byte"));
}

TEST(Perplexity, DocumentsTooLongOrEmptyAreErrors) {
  const RunResult longer = run_command({"perplexity", "--model", stories().path, "--file",
                                        stories_text_path(), "--documents", "--ctx", "16"});
  EXPECT_EQ(longer.exit_code, 1);
  EXPECT_THAT(longer.err, HasSubstr(stories_text_path() + ": document 1 has "));
  EXPECT_THAT(longer.err, HasSubstr("tokens, but there is room for 16; use a larger --ctx"));
  for (const char* nothing : {"", "<|end|>"}) {
    const RunResult none = run_command({"perplexity", "--documents", nothing});
    EXPECT_EQ(none.exit_code, 1);
    EXPECT_THAT(none.err, HasSubstr("command line: there is no text: it has no document"));
  }
  const auto registry = Registry::create(Options());
  ASSERT_TRUE(registry);
  const auto model = Model::load(stories().path, **registry);
  ASSERT_TRUE(model);
  const std::vector<std::int32_t> tokens = {0, 1, 2};
  for (const std::vector<std::size_t>& starts :
       {std::vector<std::size_t>{}, {0}, {0, 1}, {0, 4}, {2, 0}}) {
    const auto found = perplexity_of_documents(*model, tokens, starts);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), ErrorCode::kInvalidArgument) << found.error().message();
  }
  EXPECT_TRUE(perplexity_of_documents(*model, tokens, std::vector<std::size_t>{0, 3}));
}

TEST(Perplexity, AgreesWithAnIndependentImplementationForStories260K) {
  SHUNT_NEED_SHARED("data/models/stories.txt");
  const std::string text = shared_path("data/models/stories.txt");
  // stories.perplexity.txt: 2.7156 with an F32 cache, 2.7154 with F16.
  for (const auto& [cache, expected] : {std::pair("f32", 2.7156), std::pair("f16", 2.7154)}) {
    const json printed =
        perplexity_of(stories_260k().path, text, {"--ctx", "128", "--cache-type", cache});
    EXPECT_NEAR(printed["perplexity"], expected, 0.0005) << cache;
  }
}

/// Of F32 weights: with others, most CPUs round the other side of products, which costs more.
TEST(Perplexity, ChangesLittleWithBf16AndQ8Cache) {
  const F32Stories model;
  const TempFolder folder;
  const std::string text = plain_text(folder);
  const auto expected = stories_value<double>("chunk_perplexity");
  const auto with_cache = [&](const char* type) {
    return perplexity_of(model.path(), text, {"--ctx", "128", "--cache-type", type})["perplexity"]
        .get<double>();
  };
  EXPECT_NEAR(with_cache("bf16") / expected, 1, 0.001);
  EXPECT_NEAR(with_cache("q8_0") / expected, 1, 0.01);
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

TEST_F(PerplexityOfNoise, IsTheMeanOverSecondHalvesOfWholeChunks) {
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

TEST_F(PerplexityOfNoise, RejectsTextsWithoutAWholeChunk) {
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
TEST_F(PerplexityOfNoise, NonFiniteLogitsAreAnErrorThatNamesTheChunk) {
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

TEST_F(PerplexityCommand, ShortTextErrorNamesTokensAndCtxFlag) {
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

TEST_F(PerplexityCommand, SingleTokenHasNoErrorBar) {
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

TEST_F(PerplexityCommand, NonFinitePredictionPrintsNoResult) {
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

TEST_F(PerplexityOfNoise, CancelEndsTheRun) {
  std::atomic<bool> cancel = true;
  PerplexityOptions options;
  options.session.context = 16;
  options.cancel = &cancel;
  const auto result = perplexity(model_, tokens_, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace shunt::test::perplexity_test
