// Requests that score their prompts, and requests whose caller picks the tokens. The expected
// log-probabilities come from logits that a session gives token by token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "shunt/batcher.h"
#include "support/batch_requests.h"
#include "support/models.h"
#include "support/session_tokens.h"
#include "support/test_device.h"

namespace shunt::test::engine_scored_prompts_test {
namespace {

using ::testing::HasSubstr;

std::int32_t likeliest(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

/// All that a stream has given.
struct Events {
  std::vector<BatchEvent> of_prompt = {};
  Tokens picked = {};
  std::optional<BatchResult> end = {};

  void take(BatchStream& stream) {
    while (const auto event = stream.poll()) {
      if (event->end) {
        end = event->end;
      } else if (event->in_prompt) {
        EXPECT_TRUE(picked.empty()) << "a prompt's token after a picked one";
        of_prompt.push_back(*event);
      } else {
        picked.push_back(event->token);
      }
    }
  }
};

class EngineScoredPrompts : public ::testing::Test {
 protected:
  EngineScoredPrompts() {
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
    model_ = *Model::load(file_.path(), *registry_);
  }

  std::unique_ptr<Batcher> open(std::int64_t sequences, std::int64_t context = 1000,
                                std::int64_t batch = 64, std::size_t unread_events = 1024) {
    BatcherOptions options;
    options.session = session_options();
    options.session.context = context;
    options.session.sequences = sequences;
    options.session.batch = batch;
    options.unread_events = unread_events;
    options.own_thread = false;
    auto batcher = Batcher::create(model_, options);
    EXPECT_TRUE(batcher) << batcher.error().message();
    return std::move(*batcher);
  }
  static SessionOptions session_options() {
    SessionOptions options;
    options.context = 1000;
    options.cache_type = DType::kF32;
    return options;
  }
  std::unique_ptr<BatchStream> submit(Batcher& batcher, BatchRequest request) {
    auto stream = batcher.submit(std::move(request));
    EXPECT_TRUE(stream) << stream.error().message();
    return std::move(*stream);
  }
  static void run(Batcher& batcher) {
    for (int i = 0; batcher.step(); ++i) ASSERT_LT(i, 100000) << "it never ends";
  }

  /// log(softmax) after each token of a text.
  std::vector<std::vector<double>> predictions(const Tokens& text) {
    const auto session = *Session::create(model_, session_options());
    std::vector<std::vector<double>> all;
    for (const std::int32_t& token : text) {
      const auto logits = *session->append({&token, 1});
      double sum = 0;
      for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
      all.emplace_back();
      for (const float logit : logits) all.back().push_back(logit - std::log(sum));
    }
    return all;
  }
  Tokens alone(const Tokens& prompt, std::int64_t count) {
    const auto session = *Session::create(model_, session_options());
    Tokens picked;
    auto logits = *session->append(prompt);
    while (true) {
      picked.push_back(likeliest(logits));
      if (std::ssize(picked) == count) return picked;
      logits = *session->append({&picked.back(), 1});
    }
  }

  void expect_scores(const Tokens& prompt, std::int64_t from, const Events& events,
                     std::size_t alternatives = 0) {
    const auto expected = predictions(prompt);
    ASSERT_EQ(events.of_prompt.size(), prompt.size() - static_cast<std::size_t>(from));
    for (std::size_t i = 0; i < events.of_prompt.size(); ++i) {
      const std::size_t number = static_cast<std::size_t>(from) + i;
      const BatchEvent& event = events.of_prompt[i];
      const std::vector<double>& all = expected[number - 1];
      EXPECT_EQ(event.token, prompt[number]);
      EXPECT_NEAR(event.log_probability, all[static_cast<std::size_t>(event.token)], 1e-4);
      ASSERT_EQ(event.alternatives.size(), alternatives);
      for (const auto& [token, log_probability] : event.alternatives)
        EXPECT_NEAR(log_probability, all[static_cast<std::size_t>(token)], 1e-4);
      if (alternatives > 0) {
        EXPECT_NEAR(event.alternatives[0].second, *std::ranges::max_element(all), 1e-4);
      }
    }
  }

  SynthModel file_{session_model()};
  std::unique_ptr<Registry> registry_;
  TestDevice device_{TestDeviceConfig{}};  // of one test
  std::shared_ptr<const Model> model_;
};

/// The prompt takes several steps, beside a request without scores.
TEST_F(EngineScoredPrompts, GiveLogProbabilitiesThenTheTextFollows) {
  const auto batcher = open(4);
  const Tokens prompt = some_tokens(150, 1);
  const Tokens other = some_tokens(90, 2);
  BatchRequest request = greedy_request(prompt, 6);
  request.score_from = 1;
  request.alternatives = 2;
  const auto scored = submit(*batcher, request);
  const auto plain = submit(*batcher, greedy_request(other, 9));
  run(*batcher);
  Events events;
  events.take(*scored);
  expect_scores(prompt, 1, events, 2);
  EXPECT_EQ(events.picked, alone(prompt, 6));
  ASSERT_TRUE(events.end);
  EXPECT_EQ(events.end->computed_tokens, 155);
  Events others;
  others.take(*plain);
  EXPECT_TRUE(others.of_prompt.empty());
  EXPECT_EQ(others.picked, alone(other, 9));
}

/// Logits of the tokens before those scored are needed, and nothing of the ones before these.
TEST_F(EngineScoredPrompts, UseTheCacheUpToTheFirstLogitsThatTheyNeed) {
  const Tokens prompt = some_tokens(200, 1);
  for (const auto& [from, cached] : {std::pair(1, 0), {64, 0}, {65, 64}, {129, 128}, {199, 192}}) {
    const auto batcher = open(2);
    const auto first = submit(*batcher, greedy_request(prompt, 1));
    run(*batcher);
    BatchRequest request = greedy_request(prompt, 0);
    request.score_from = from;
    const auto scored = submit(*batcher, request);
    run(*batcher);
    Events events;
    events.take(*scored);
    expect_scores(prompt, from, events);
    ASSERT_TRUE(events.end);
    EXPECT_EQ(events.end->reason, BatchEnd::kLength);
    EXPECT_EQ(events.end->cached_tokens, cached) << from;
    EXPECT_EQ(events.end->computed_tokens, 200 - cached) << from;
  }
}

/// All is computed by a device, and only logits leave it: those of the tokens that predict others,
/// and of the last one.
TEST_F(EngineScoredPrompts, LogitsBeforeTheFirstScoreAreNotMade) {
  LoadOptions load;
  load.placement.rules_only = true;
  const std::vector<Device*> devices = {&device_, registry_->devices().back()};
  model_ = *Model::load(file_.path(), devices, load);
  const Tokens prompt = some_tokens(200, 1);
  const auto vocabulary = static_cast<std::size_t>(model_->info().vocabulary);
  for (const std::int64_t from : {1, 64, 65, 128, 150, 199}) {
    const auto batcher = open(2);
    const std::size_t before = device_.sent();
    BatchRequest request = greedy_request(prompt, 0);
    request.score_from = from;
    const auto stream = submit(*batcher, request);
    run(*batcher);
    const auto tokens = static_cast<std::size_t>(200 - (from - 1));
    EXPECT_EQ(device_.sent() - before, tokens * vocabulary * sizeof(float)) << from;
    Events events;
    events.take(*stream);
    expect_scores(prompt, from, events);
  }
}

/// A pause takes its sequence away; no token is scored twice.
TEST_F(EngineScoredPrompts, SlowReaderGetsEachScoreOnce) {
  const auto batcher = open(1, 1000, 32, 10);
  const Tokens prompt = some_tokens(120, 1);
  const Tokens other = some_tokens(50, 2);
  BatchRequest request = greedy_request(prompt, 3);
  request.score_from = 20;
  const auto slow = submit(*batcher, request);
  ASSERT_TRUE(batcher->step());
  ASSERT_FALSE(batcher->step()) << "10 scores wait for the reader";
  const auto quick = submit(*batcher, greedy_request(other, 4));
  run(*batcher);
  Events read;
  read.take(*quick);
  EXPECT_EQ(read.picked, alone(other, 4));
  Events late;
  for (int i = 0; i < 20; ++i) {
    late.take(*slow);
    batcher->step();
  }
  expect_scores(prompt, 20, late);
  EXPECT_EQ(late.picked, alone(prompt, 3));
  ASSERT_TRUE(late.end);
  EXPECT_EQ(late.end->pauses, 1);
}

/// Each step adds no more events than a reader may leave.
TEST_F(EngineScoredPrompts, AddAsManyEventsAsMayBeUnread) {
  const auto batcher = open(1, 1000, 64, 4);
  BatchRequest request = greedy_request(some_tokens(100, 1), 0);
  request.score_from = 1;
  const auto stream = submit(*batcher, std::move(request));
  std::size_t all = 0;
  bool ended = false;
  for (int steps = 0; !ended; ++steps) {
    ASSERT_LT(steps, 1000);
    batcher->step();
    std::size_t events = 0;
    while (const auto event = stream->poll()) {
      ended = ended || event->end;
      if (event->in_prompt) ++events;
    }
    EXPECT_LE(events, 4U);
    all += events;
  }
  EXPECT_EQ(all, 99U);
}

TEST_F(EngineScoredPrompts, FirstScoreBeyondThePromptMeansNone) {
  const auto batcher = open(2);
  const Tokens prompt = some_tokens(20, 1);
  BatchRequest request = greedy_request(prompt, 2);
  request.score_from = 20;
  const auto stream = submit(*batcher, request);
  run(*batcher);
  Events events;
  events.take(*stream);
  EXPECT_TRUE(events.of_prompt.empty());
  EXPECT_EQ(events.picked, alone(prompt, 2));
  for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-2}}) {
    request.score_from = wrong;
    const auto refused = batcher->submit(request);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(refused.error().message(), HasSubstr("score_from is"));
  }
}

TEST_F(EngineScoredPrompts, LogitsThatAreNotNumbersPredictNothing) {
  const std::string broken = file_.folder().file("broken.gguf");
  write_edited(file_.path(), broken, [](EditedFile& file) {
    file.set_element("output.weight", 7 * 32, NAN);  // of one token's logit
  });
  model_ = *Model::load(broken, *registry_);
  const auto batcher = open(2);
  BatchRequest request = greedy_request({1, 2, 3}, 0);
  request.score_from = 1;
  const auto stream = submit(*batcher, request);
  run(*batcher);
  Events events;
  events.take(*stream);
  ASSERT_EQ(events.of_prompt.size(), 2U);
  for (const BatchEvent& event : events.of_prompt)
    EXPECT_FALSE(std::isfinite(event.log_probability));
}

TEST_F(EngineScoredPrompts, CallerPicksTheTokens) {
  const auto batcher = open(4);
  const Tokens prompt = some_tokens(30, 1);
  BatchRequest chosen = greedy_request(prompt, 4);
  std::vector<std::size_t> sizes;
  chosen.pick = [&](std::span<const std::int32_t> picked, std::span<const float> logits) {
    EXPECT_EQ(logits.size(), static_cast<std::size_t>(kSessionVocabulary));
    sizes.push_back(picked.size());
    return static_cast<std::int32_t>(10 + picked.size());
  };
  const auto first = submit(*batcher, chosen);
  BatchRequest same = greedy_request(prompt, 4);
  same.pick = [](std::span<const std::int32_t>, std::span<const float> logits) {
    return likeliest(logits);
  };
  const auto second = submit(*batcher, same);
  run(*batcher);
  Events a;
  a.take(*first);
  EXPECT_EQ(a.picked, (Tokens{10, 11, 12, 13}));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{0, 1, 2, 3}));
  Events b;
  b.take(*second);
  EXPECT_EQ(b.picked, alone(prompt, 4));
}

TEST_F(EngineScoredPrompts, CallerThatPicksNoTokenEndsItsOwnRequest) {
  const auto batcher = open(4);
  const Tokens prompt = some_tokens(30, 1);
  std::vector<std::unique_ptr<BatchStream>> wrong;
  for (const std::int32_t token : {-1, static_cast<std::int32_t>(kSessionVocabulary)}) {
    BatchRequest request = greedy_request(prompt, 4);
    request.pick = [token](std::span<const std::int32_t>, std::span<const float>) { return token; };
    wrong.push_back(submit(*batcher, request));
  }
  BatchRequest request = greedy_request(prompt, 4);
  request.pick = [](std::span<const std::int32_t>, std::span<const float>) -> Result<std::int32_t> {
    return Error(ErrorCode::kUnsupported, "no token today");
  };
  wrong.push_back(submit(*batcher, request));
  const auto right = submit(*batcher, greedy_request(prompt, 4));
  run(*batcher);
  for (const auto& stream : wrong) {
    Events events;
    events.take(*stream);
    ASSERT_TRUE(events.end);
    EXPECT_EQ(events.end->reason, BatchEnd::kFailed);
    ASSERT_TRUE(events.end->error);
    EXPECT_THAT(events.end->error->message(),
                ::testing::AnyOf(HasSubstr("is not one of the model's 300"), "no token today"));
    EXPECT_TRUE(events.picked.empty());
  }
  Events events;
  events.take(*right);
  EXPECT_EQ(events.picked, alone(prompt, 4));
}

}  // namespace
}  // namespace shunt::test::engine_scored_prompts_test
