// Sequences that share their cache: forks, and common prefixes. Each gives the results that it
// gives alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/model_state.h"
#include "shunt/engine.h"
#include "support/models.h"
#include "support/session_tokens.h"
#include "support/test_device.h"

namespace shunt::test::engine_prefix_test {
namespace {

using ::testing::HasSubstr;
using Logits = std::vector<float>;

constexpr std::int64_t kVocabulary = kSessionVocabulary;
constexpr std::int64_t kContext = 2600;

constexpr float kTolerance = kLogitsTolerance;

SessionOptions session_options(std::int64_t sequences, bool reuse) {
  SessionOptions options;
  options.context = kContext;
  options.sequences = sequences;
  options.cache_type = DType::kF32;
  options.reuse_prefixes = reuse;
  return options;
}

Tokens joined(Tokens first, const Tokens& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class EnginePrefix : public ::testing::Test {
 protected:
  EnginePrefix() {
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
    model_ = *Model::load(file_.path(), *registry_);
  }

  std::unique_ptr<Session> open(std::int64_t sequences, bool reuse) {
    auto session = Session::create(model_, session_options(sequences, reuse));
    EXPECT_TRUE(session) << session.error().message();
    return std::move(*session);
  }

  /// The logits after these tokens, in a session of their own.
  Logits alone(const Tokens& tokens) {
    const auto session = open(1, false);
    const auto logits = session->append(tokens);
    EXPECT_TRUE(logits) << logits.error().message();
    return {logits->begin(), logits->end()};
  }

  /// Appends to a sequence whose tokens are `all` then.
  void append(Session& session, std::int64_t sequence, const Tokens& more, const Tokens& all) {
    const SequenceTokens piece = {sequence, more};
    const auto logits = session.append_each({&piece, 1});
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_LE(difference(*logits, alone(all)), kTolerance) << "sequence " << sequence;
    EXPECT_EQ(session.length(sequence), std::ssize(all));
  }

  SynthModel file_{session_model()};
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<const Model> model_;
};

TEST_F(EnginePrefix, ForkContinuesWithoutComputingItsTokensAgain) {
  const auto session = open(3, false);
  const Tokens prompt = some_tokens(100, 1);
  append(*session, 0, prompt, prompt);
  ASSERT_TRUE(session->fork(0, 1));
  ASSERT_TRUE(session->fork(0, 2, 70));
  EXPECT_EQ(session->length(1), 100);
  EXPECT_EQ(session->length(2), 70);
  const Tokens start(prompt.begin(), prompt.begin() + 70);
  const Tokens one = some_tokens(5, 2);
  const Tokens two = some_tokens(30, 3);
  append(*session, 1, one, joined(prompt, one));
  append(*session, 2, two, joined(start, two));
  append(*session, 0, two, joined(prompt, two));
  EXPECT_EQ(session->computed(), 100 + 5 + 30 + 30);
  // The forks are sequences of their own.
  ASSERT_TRUE(session->truncate(0, 0));
  append(*session, 1, one, joined(joined(prompt, one), one));
  // A fork of a fork, into a sequence that had tokens.
  ASSERT_TRUE(session->fork(2, 0, 65));
  const Tokens shorter(prompt.begin(), prompt.begin() + 65);
  append(*session, 0, one, joined(shorter, one));
}

TEST_F(EnginePrefix, ForkIsRefusedForWhatIsNotThere) {
  const auto session = open(2, false);
  ASSERT_TRUE(session->append(some_tokens(10, 1)));
  EXPECT_THAT(session->fork(0, 2).error().message(), HasSubstr("there is no sequence 2"));
  EXPECT_THAT(session->fork(-1, 1).error().message(), HasSubstr("there is no sequence -1"));
  EXPECT_THAT(session->fork(0, 1, 11).error().message(),
              HasSubstr("can't fork 11 tokens of sequence 0: there are 10"));
  EXPECT_FALSE(session->fork(0, 1, -2));
  EXPECT_FALSE(session->set_scope(2, "x"));
  EXPECT_EQ(session->length(1), 0);
  ASSERT_TRUE(session->fork(0, 0, 4));
  EXPECT_EQ(session->length(0), 4);
}

/// Sixteen requests at once, with 1,003 tokens in common.
TEST_F(EnginePrefix, CommonPrefixIsComputedOnce) {
  constexpr std::int64_t kRequests = 16;
  const auto session = open(kRequests, true);
  const Tokens common = some_tokens(1003, 1);
  std::vector<Tokens> prompts;
  std::vector<SequenceTokens> pieces;
  for (std::int64_t i = 0; i < kRequests; ++i)
    prompts.push_back(joined(common, some_tokens(30, 100 + static_cast<std::uint32_t>(i))));
  for (std::int64_t i = 0; i < kRequests; ++i)
    pieces.push_back({i, prompts[static_cast<std::size_t>(i)]});
  const auto logits = session->append_each(pieces);
  ASSERT_TRUE(logits) << logits.error().message();
  EXPECT_LE(session->computed(), 1003 + kRequests * 94);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto own = logits->subspan(i * static_cast<std::size_t>(kVocabulary),
                                     static_cast<std::size_t>(kVocabulary));
    EXPECT_LE(difference(own, alone(prompts[i])), kTolerance) << "request " << i;
  }
  // Another one later, after all have ended.
  for (std::int64_t i = 0; i < kRequests; ++i) ASSERT_TRUE(session->truncate(0, i));
  const std::int64_t before = session->computed();
  append(*session, 3, prompts[5], prompts[5]);
  EXPECT_LE(session->computed() - before, 30 + 63);
}

/// A sequence has its first block to itself, and shares those after it.
TEST_F(EnginePrefix, StepsEndWhereTheCacheHasTheNextBlock) {
  const auto session = open(2, true);
  const Tokens prompt = some_tokens(200, 1);
  append(*session, 0, prompt, prompt);
  const Tokens start(prompt.begin(), prompt.begin() + 40);
  append(*session, 1, start, start);
  EXPECT_EQ(session->computed(), 200 + 40);
  append(*session, 1, Tokens(prompt.begin() + 40, prompt.end()), prompt);
  EXPECT_EQ(session->computed(), 200 + 40 + 24 + 8);
}

/// The first step has the logits that are wanted. Others follow, whose plans use the same memory.
TEST_F(EnginePrefix, LogitsOutliveStepsOfPiecesWithoutLogits) {
  SessionOptions options = session_options(2, false);
  options.batch = 40;
  const auto session = *Session::create(model_, options);
  const Tokens brief = some_tokens(10, 1);
  const Tokens lengthy = some_tokens(200, 2);
  const SequenceTokens pieces[] = {{0, brief, true}, {1, lengthy, false}};
  const auto logits = session->append_each(pieces);
  ASSERT_TRUE(logits) << logits.error().message();
  ASSERT_EQ(logits->size(), static_cast<std::size_t>(kVocabulary));
  EXPECT_LE(difference(*logits, alone(brief)), kTolerance);
  const SequenceTokens swapped[] = {{1, brief, false}, {0, brief, true}};
  const auto second = session->append_each(swapped);
  ASSERT_TRUE(second);
  EXPECT_LE(difference(*second, alone(joined(brief, brief))), kTolerance);
  append(*session, 1, brief, joined(joined(lengthy, brief), brief));
}

/// The context is no multiple of a block, and a kept block takes the place of another one.
TEST_F(EnginePrefix, OneSequenceReusesBlocksInAnyContext) {
  SessionOptions options = session_options(1, true);
  options.context = 100;
  const auto session = *Session::create(model_, options);
  const Tokens first = some_tokens(64, 1);
  append(*session, 0, first, first);
  ASSERT_TRUE(session->truncate(63));
  append(*session, 0, {7}, joined(Tokens(first.begin(), first.end() - 1), {7}));
  ASSERT_TRUE(session->truncate(0));
  const Tokens second = some_tokens(100, 2);
  append(*session, 0, second, second);
  ASSERT_TRUE(session->truncate(0));
  const Tokens third = joined(first, some_tokens(36, 3));
  append(*session, 0, third, third);
}

TEST_F(EnginePrefix, WithoutReuseEveryTokenIsComputed) {
  const auto session = open(2, false);
  const Tokens prompt = some_tokens(200, 1);
  append(*session, 0, prompt, prompt);
  append(*session, 1, prompt, prompt);
  EXPECT_EQ(session->computed(), 400);
}

TEST_F(EnginePrefix, ScopesComputeTheirOwnPrefixes) {
  const auto session = open(3, true);
  const Tokens prompt = some_tokens(200, 1);
  ASSERT_TRUE(session->set_scope(0, "alice"));
  ASSERT_TRUE(session->set_scope(1, "bob"));
  ASSERT_TRUE(session->set_scope(2, "alice"));
  append(*session, 0, prompt, prompt);
  append(*session, 1, prompt, prompt);
  EXPECT_EQ(session->computed(), 400);
  append(*session, 2, prompt, prompt);
  EXPECT_EQ(session->computed(), 400 + 8);
}

/// All logits are wanted, so every token is computed.
TEST_F(EnginePrefix, AppendAllComputesTokensThatOthersHave) {
  const auto session = open(2, true);
  const Tokens prompt = some_tokens(150, 1);
  append(*session, 1, prompt, prompt);
  std::size_t logits_of = 0;
  ASSERT_TRUE(session->append_all(prompt, [&](std::size_t first, std::span<const float> logits) {
    EXPECT_EQ(first, logits_of);
    logits_of += logits.size() / static_cast<std::size_t>(kVocabulary);
  }));
  EXPECT_EQ(logits_of, prompt.size());
}

TEST_F(EnginePrefix, SharedTokensCountOnceInTheContext) {
  const auto session = open(4, false);
  const Tokens prompt = some_tokens(2000, 1);
  append(*session, 0, prompt, prompt);
  for (const std::int64_t fork : {1, 2, 3}) ASSERT_TRUE(session->fork(0, fork));
  const Tokens more = some_tokens(100, 2);
  for (const std::int64_t fork : {1, 2, 3}) append(*session, fork, more, joined(prompt, more));
  const SequenceTokens too_many = {0, prompt};
  const auto refused = session->append_each({&too_many, 1});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("2000 tokens do not fit: the context holds 2600"));
  append(*session, 0, more, joined(prompt, more));
}

/// A device fails after some sequences were forked: all that it had is computed again.
TEST_F(EnginePrefix, ForksSurviveADeviceThatIsLeftOut) {
  TestDevice device(TestDeviceConfig{});
  const std::vector<Device*> devices = {&device, registry_->devices().back()};
  LoadOptions options;
  options.session = session_options(3, true);
  options.placement.rules_only = true;
  options.on_device_error.mode = DeviceErrorMode::kFallback;
  const std::shared_ptr<const Model> model = *Model::load(file_.path(), devices, options);
  auto created = Session::create(model, options.session);
  ASSERT_TRUE(created) << created.error().message();
  const auto session = std::move(*created);
  const Tokens prompt = some_tokens(150, 1);
  ASSERT_TRUE(session->append(prompt));
  ASSERT_TRUE(session->fork(0, 1));
  ASSERT_TRUE(session->fork(0, 2, 90));
  const Tokens more = some_tokens(40, 2);
  device.fail_at({.any = 1, .for_good = true});
  append(*session, 1, more, joined(prompt, more));
  const Tokens start(prompt.begin(), prompt.begin() + 90);
  append(*session, 2, more, joined(start, more));
  append(*session, 0, more, joined(prompt, more));
  EXPECT_EQ(model->state()->devices.size(), 1U);
}

}  // namespace
}  // namespace shunt::test::engine_prefix_test
