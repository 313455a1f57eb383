// generate() with a session of the caller. The expected tokens are those that a loop over a session
// picks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "shunt/engine.h"
#include "support/models.h"
#include "support/session_tokens.h"

namespace shunt::test::engine_generate_test {
namespace {

class EngineGenerate : public ::testing::Test {
 protected:
  EngineGenerate() {
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
    model_ = *Model::load(file_.path(), *registry_);
  }

  std::unique_ptr<Session> open(std::int64_t context = 400, std::int64_t sequences = 1,
                                std::int64_t batch = 32) {
    SessionOptions options;
    options.context = context;
    options.sequences = sequences;
    options.batch = batch;
    return *Session::create(model_, options);
  }
  static GenerateOptions options(std::int64_t max_tokens) {
    GenerateOptions options;
    options.max_tokens = max_tokens;
    options.ignore_end = true;
    options.sampling = {.temperature = 0.7F, .repeat_penalty = 1.5F, .seed = 5};
    return options;
  }
  static Tokens generated(Session& session, const Tokens& prompt, const GenerateOptions& options) {
    const auto result = generate(session, prompt, options, {});
    EXPECT_TRUE(result) << result.error().message();
    return result ? result->tokens : Tokens();
  }
  /// Each token by a call of its own.
  static Tokens by_hand(Session& session, const Tokens& prompt, const GenerateOptions& options) {
    Sampler sampler = *Sampler::create(options.sampling);
    for (const std::int32_t token : prompt) sampler.accept(token);
    Tokens tokens;
    auto logits = *session.append(prompt);
    while (true) {
      tokens.push_back(*sampler.pick(logits));
      sampler.accept(tokens.back());
      if (std::ssize(tokens) == options.max_tokens) return tokens;
      logits = *session.append({&tokens.back(), 1});
    }
  }

  SynthModel file_{session_model()};
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<const Model> model_;
};

TEST_F(EngineGenerate, ContinuesTheTokensOfTheSession) {
  const auto session = open();
  const auto other = open();
  Tokens all;
  for (const std::uint32_t turn : {1, 2, 3}) {
    const Tokens prompt = some_tokens(40 * turn, turn);
    const Tokens tokens = generated(*session, prompt, options(7));
    EXPECT_EQ(tokens, by_hand(*other, prompt, options(7))) << "turn " << turn;
    all.insert(all.end(), prompt.begin(), prompt.end());
    all.insert(all.end(), tokens.begin(), tokens.end() - 1);
    const auto kept = session->tokens();
    EXPECT_EQ(Tokens(kept.begin(), kept.end()), all) << "the last one is not computed";
  }
}

/// The prompt is computed in steps of 32, and in one call.
TEST_F(EngineGenerate, PromptThatDoesNotFitLeavesTheSessionAsItWas) {
  const auto session = open(100, 2);
  const Tokens other = some_tokens(30, 1);
  const SequenceTokens more = {1, other};
  ASSERT_TRUE(session->append_each({&more, 1}));
  const Tokens first = some_tokens(20, 2);
  ASSERT_TRUE(session->append(first));
  const auto refused = generate(*session, some_tokens(51, 3), options(1), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(
      refused.error().message(),
      ::testing::HasSubstr("51 tokens do not fit: the context holds 100, 50 of them taken"));
  EXPECT_EQ(session->length(0), 20);
  EXPECT_EQ(session->length(1), 30);
  EXPECT_EQ(session->computed(), 50);
  EXPECT_EQ(generated(*session, some_tokens(50, 3), options(-1)).size(), 1U);
  EXPECT_EQ(session->length(1), 30);
}

TEST_F(EngineGenerate, WithoutTokensComputesThePromptOnly) {
  const auto session = open();
  const Tokens prompt = some_tokens(50, 1);
  EXPECT_EQ(generated(*session, prompt, options(0)), Tokens());
  EXPECT_EQ(session->computed(), 50);
  const Tokens next = some_tokens(3, 2);
  EXPECT_EQ(generated(*session, next, options(4)).size(), 4U);
  EXPECT_EQ(session->length(), 56);
}

TEST_F(EngineGenerate, BadOptionsAreErrors) {
  const auto session = open();
  GenerateOptions wrong = options(-2);
  EXPECT_FALSE(generate(*session, Tokens{1}, wrong, {}));
  wrong = options(1);
  wrong.sampling.top_p = 2;
  EXPECT_FALSE(generate(*session, Tokens{1}, wrong, {}));
  EXPECT_FALSE(generate(*session, Tokens{}, options(1), {}));
  EXPECT_FALSE(generate(*session, Tokens{1, -1}, options(1), {}));
  EXPECT_EQ(session->length(), 0);
}

TEST_F(EngineGenerate, CancelAfterATokenKeepsWhatWasComputed) {
  const auto session = open();
  std::atomic<bool> cancel = false;
  GenerateOptions how = options(20);
  how.cancel = &cancel;
  how.sampling.temperature = 0;
  int pieces = 0;
  const auto result = generate(*session, some_tokens(10, 1), how, [&](std::string_view) {
    if (++pieces == 3) cancel = true;
  });
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->stop, StopReason::kCancelled);
  EXPECT_GE(result->tokens.size(), 3U);
  EXPECT_LT(result->tokens.size(), 20U);
  EXPECT_EQ(session->length(), 10 + std::ssize(result->tokens) - 1);
}

}  // namespace
}  // namespace shunt::test::engine_generate_test
