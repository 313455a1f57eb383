// Requests that are computed together. Each gives the text that it gives alone.
#include "engine/model_state.h"
#include "shunt/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include "support/batch_requests.h"
#include "support/models.h"
#include "support/session_tokens.h"
#include "support/test_device.h"

namespace shunt::test::engine_batcher_test {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kVocabulary = kSessionVocabulary;

/// The events that a stream has got.
struct Received {
  Tokens tokens = {};
  std::vector<BatchEvent> events = {};
  std::optional<BatchResult> end = {};

  void take(BatchStream& stream) {
    while (auto event = stream.poll()) add(std::move(*event));
  }
  void take_all(BatchStream& stream) {
    while (auto event = stream.next()) add(std::move(*event));
  }
  void add(BatchEvent event) {
    EXPECT_FALSE(end) << "an event after the end";
    if (event.end) {
      end = event.end;
      return;
    }
    tokens.push_back(event.token);
    events.push_back(std::move(event));
  }
};

class EngineBatcher : public ::testing::Test {
 protected:
  EngineBatcher() {
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
    model_ = *Model::load(file_.path(), *registry_);
  }

  /// A batcher whose steps the test makes, on a clock that the test sets.
  std::unique_ptr<Batcher> open(std::int64_t context, std::int64_t sequences,
                                std::size_t unread_events = 1024) {
    BatcherOptions options;
    options.session.context = context;
    options.session.sequences = sequences;
    options.session.cache_type = DType::kF32;
    options.unread_events = unread_events;
    options.own_thread = false;
    options.clock = [this] { return now_; };
    auto batcher = Batcher::create(model_, options);
    EXPECT_TRUE(batcher) << batcher.error().message();
    return std::move(*batcher);
  }

  std::unique_ptr<BatchStream> submit(Batcher& batcher, BatchRequest request) {
    auto stream = batcher.submit(std::move(request));
    EXPECT_TRUE(stream) << stream.error().message();
    return std::move(*stream);
  }
  /// Requests of one token each. Their prompts are `common`, then `own` tokens of their own.
  std::vector<std::unique_ptr<BatchStream>> submit_after(const Tokens& common, Batcher& batcher,
                                                         std::uint32_t count, std::size_t own) {
    std::vector<std::unique_ptr<BatchStream>> streams;
    for (std::uint32_t i = 0; i < count; ++i) {
      Tokens prompt = common;
      const Tokens rest = some_tokens(own, 100 + i);
      prompt.insert(prompt.end(), rest.begin(), rest.end());
      streams.push_back(submit(batcher, greedy_request(prompt, 1)));
    }
    return streams;
  }

  /// The tokens that a session of its own gives.
  Tokens alone(const Tokens& prompt, std::int64_t count) {
    SessionOptions options;
    options.context = 2000;
    options.cache_type = DType::kF32;
    const auto session = *Session::create(model_, options);
    Tokens picked;
    auto logits = *session->append(prompt);
    while (true) {
      const auto best = std::ranges::max_element(logits) - logits.begin();
      picked.push_back(static_cast<std::int32_t>(best));
      if (std::ssize(picked) == count) return picked;
      logits = *session->append({&picked.back(), 1});
    }
  }

  void run(Batcher& batcher) {
    for (int i = 0; batcher.step(); ++i) ASSERT_LT(i, 100000) << "it never ends";
  }

  SynthModel file_{session_model()};
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<const Model> model_;
  double now_ = 100;
};

TEST_F(EngineBatcher, EachRequestGivesTheTextThatItGivesAlone) {
  const auto batcher = open(2000, 8);
  std::vector<std::unique_ptr<BatchStream>> streams;
  std::vector<Tokens> prompts;
  for (std::uint32_t i = 0; i < 20; ++i) {
    prompts.push_back(some_tokens(1 + i * i % 190, i));
    streams.push_back(submit(*batcher, greedy_request(prompts.back(), 12)));
  }
  run(*batcher);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    Received all;
    all.take(*streams[i]);
    ASSERT_TRUE(all.end) << i;
    EXPECT_EQ(all.end->reason, BatchEnd::kLength);
    EXPECT_EQ(all.end->picked_tokens, 12);
    EXPECT_EQ(all.tokens, alone(prompts[i], 12)) << "request " << i;
  }
  EXPECT_EQ(batcher->statistics().running, 0);
  EXPECT_EQ(batcher->statistics().waiting, 0);
}

/// The context holds a third of the requests: some of them pause, and are computed again.
TEST_F(EngineBatcher, TextSurvivesPausesForWantOfRoom) {
  const auto batcher = open(400, 16);
  std::vector<std::unique_ptr<BatchStream>> streams;
  std::vector<Tokens> prompts;
  for (std::uint32_t i = 0; i < 16; ++i) {
    prompts.push_back(some_tokens(10 + 3 * i, i));
    streams.push_back(submit(*batcher, greedy_request(prompts.back(), 60)));
  }
  run(*batcher);
  std::int64_t pauses = 0;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    Received all;
    all.take(*streams[i]);
    ASSERT_TRUE(all.end) << i;
    EXPECT_EQ(all.end->reason, BatchEnd::kLength);
    EXPECT_EQ(all.tokens, alone(prompts[i], 60)) << "request " << i;
    pauses += all.end->pauses;
  }
  EXPECT_GT(pauses, 0) << "this never happened";
  EXPECT_EQ(pauses, batcher->statistics().pauses);
}

TEST_F(EngineBatcher, CommonPrefixIsComputedOnce) {
  const auto batcher = open(2600, 16);
  const Tokens common = some_tokens(1003, 1);
  const auto streams = submit_after(common, *batcher, 16, 30);
  run(*batcher);
  EXPECT_LE(batcher->statistics().computed_tokens, 1003 + 16 * 94);
  std::int64_t cached = 0;
  for (const auto& stream : streams) {
    Received all;
    all.take(*stream);
    ASSERT_TRUE(all.end);
    cached += all.end->cached_tokens;
    EXPECT_EQ(all.end->cached_tokens + all.end->computed_tokens, 1033);
  }
  EXPECT_EQ(cached, 15 * 960);
}

TEST_F(EngineBatcher, ScopesShareNothing) {
  const auto batcher = open(2600, 4);
  const Tokens prompt = some_tokens(200, 1);
  const auto computed = [&](const std::string& scope) {
    const std::int64_t before = batcher->statistics().computed_tokens;
    BatchRequest request = greedy_request(prompt, 1);
    request.scope = scope;
    const auto stream = submit(*batcher, request);
    run(*batcher);
    return batcher->statistics().computed_tokens - before;
  };
  EXPECT_EQ(computed("a"), 200);
  EXPECT_EQ(computed("b"), 200);
  EXPECT_EQ(computed("a"), 8);
  EXPECT_EQ(computed(""), 200);
}

TEST_F(EngineBatcher, CancelledRequestEndsAndLeavesTheOthersAlone) {
  const auto batcher = open(1000, 4);
  const Tokens prompt = some_tokens(30, 1);
  const Tokens other = some_tokens(40, 2);
  auto first = submit(*batcher, greedy_request(prompt, 50));
  const auto second = submit(*batcher, greedy_request(other, 20));
  const auto waiting = submit(*batcher, greedy_request(prompt, 5));
  waiting->cancel();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(batcher->step());
  Received cancelled;
  cancelled.take(*first);
  EXPECT_FALSE(cancelled.end);
  EXPECT_GE(cancelled.tokens.size(), 3U);
  first->cancel();
  ASSERT_TRUE(batcher->step());
  cancelled.take(*first);
  ASSERT_TRUE(cancelled.end);
  EXPECT_EQ(cancelled.end->reason, BatchEnd::kCancelled);
  EXPECT_FALSE(first->next()) << "nothing follows the end";
  auto dropped = submit(*batcher, greedy_request(other, 50));
  ASSERT_TRUE(batcher->step());
  dropped.reset();
  run(*batcher);
  Received all;
  all.take(*second);
  EXPECT_EQ(all.tokens, alone(other, 20));
  Received never;
  never.take(*waiting);
  ASSERT_TRUE(never.end);
  EXPECT_EQ(never.end->reason, BatchEnd::kCancelled);
  EXPECT_TRUE(never.tokens.empty());
  EXPECT_EQ(batcher->statistics().running, 0);
}

TEST_F(EngineBatcher, DeadlineEndsARequest) {
  const auto batcher = open(1000, 4);
  BatchRequest late = greedy_request(some_tokens(30, 1), 50);
  late.deadline = -1;
  const auto past = submit(*batcher, late);
  late.deadline = 10;
  const auto soon = submit(*batcher, late);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(batcher->step());
  Received none;
  none.take(*past);
  ASSERT_TRUE(none.end);
  EXPECT_EQ(none.end->reason, BatchEnd::kDeadline);
  EXPECT_EQ(none.end->computed_tokens, 0);
  now_ += 11;
  run(*batcher);
  Received some;
  some.take(*soon);
  ASSERT_TRUE(some.end);
  EXPECT_EQ(some.end->reason, BatchEnd::kDeadline);
  EXPECT_GT(some.tokens.size(), 0U);
  EXPECT_LT(some.tokens.size(), 50U);
}

TEST_F(EngineBatcher, SlowReaderPausesItsOwnRequestOnly) {
  const auto batcher = open(1000, 4, 4);
  const Tokens prompt = some_tokens(30, 1);
  const Tokens other = some_tokens(20, 2);
  const auto slow = submit(*batcher, greedy_request(prompt, 20));
  const auto quick = submit(*batcher, greedy_request(other, 20));
  Received read;
  for (int i = 0; i < 60; ++i) {
    batcher->step();
    read.take(*quick);
  }
  EXPECT_EQ(read.tokens, alone(other, 20));
  EXPECT_FALSE(batcher->step()) << "it waits for the reader";
  Received late;
  late.take(*slow);
  EXPECT_EQ(late.tokens.size(), 4U);
  for (int i = 0; i < 60; ++i) {
    batcher->step();
    late.take(*slow);
  }
  EXPECT_EQ(late.tokens, alone(prompt, 20));
}

/// It has the rows that others need, and its reader has left.
TEST_F(EngineBatcher, SlowReaderGivesItsRowsToOthers) {
  const auto batcher = open(200, 4, 2);
  const Tokens prompt = some_tokens(120, 1);
  const Tokens other = some_tokens(130, 2);
  const auto slow = submit(*batcher, greedy_request(prompt, 10));
  for (int i = 0; i < 10; ++i) batcher->step();
  const auto quick = submit(*batcher, greedy_request(other, 10));
  Received read;
  for (int i = 0; i < 60; ++i) {
    batcher->step();
    read.take(*quick);
  }
  ASSERT_TRUE(read.end) << "it waits for the rows of the other one";
  EXPECT_EQ(read.tokens, alone(other, 10));
  EXPECT_FALSE(batcher->step()) << "nothing is to be done until the reader returns";
  Received late;
  for (int i = 0; i < 60; ++i) {
    batcher->step();
    late.take(*slow);
  }
  ASSERT_TRUE(late.end);
  EXPECT_EQ(late.tokens, alone(prompt, 10));
  EXPECT_EQ(late.end->pauses, 1);
}

/// There is room for both, but only one sequence.
TEST_F(EngineBatcher, SlowReaderGivesItsSequenceToOthers) {
  const auto batcher = open(1000, 1, 2);
  const Tokens prompt = some_tokens(20, 1);
  const Tokens other = some_tokens(30, 2);
  const auto slow = submit(*batcher, greedy_request(prompt, 10));
  for (int i = 0; i < 10; ++i) batcher->step();
  const auto quick = submit(*batcher, greedy_request(other, 10));
  Received read;
  Received late;
  for (int i = 0; i < 60; ++i) {
    batcher->step();
    read.take(*quick);
    if (read.end) late.take(*slow);
  }
  ASSERT_TRUE(read.end) << "it waits for the sequence of the other one";
  EXPECT_EQ(read.tokens, alone(other, 10));
  EXPECT_EQ(late.tokens, alone(prompt, 10));
}

/// Their first block is computed by one of them, and found by the others a step later.
TEST_F(EngineBatcher, ShortCommonPrefixIsFoundByRequestsOfTheSameStep) {
  const auto batcher = open(1000, 4);
  const Tokens common = some_tokens(100, 1);
  const auto streams = submit_after(common, *batcher, 4, 10);
  run(*batcher);
  std::int64_t cached = 0;
  for (const auto& stream : streams) {
    Received all;
    all.take(*stream);
    ASSERT_TRUE(all.end);
    cached += all.end->cached_tokens;
    EXPECT_EQ(all.end->cached_tokens + all.end->computed_tokens, 110);
  }
  EXPECT_EQ(cached, 3 * 64);
  EXPECT_EQ(batcher->statistics().computed_tokens, 4 * 110 - 3 * 64);
}

TEST_F(EngineBatcher, RefusesBadRequestsWithTheNumbers) {
  const auto batcher = open(100, 4);
  const auto error = [&](const BatchRequest& request) {
    const auto stream = batcher->submit(request);
    EXPECT_FALSE(stream);
    if (stream) return std::string();
    EXPECT_EQ(stream.error().code(), ErrorCode::kInvalidArgument);
    return stream.error().message();
  };
  EXPECT_THAT(error(greedy_request({}, 5)), HasSubstr("there are no tokens"));
  EXPECT_THAT(error(greedy_request({5, 300}, 5)),
              HasSubstr("token 300 is not one of the model's 300"));
  EXPECT_THAT(error(greedy_request(some_tokens(101, 1), 5)),
              HasSubstr("a prompt of 101 tokens can never fit a context of 100"));
  EXPECT_THAT(error(greedy_request({5}, -2)), HasSubstr("max_tokens is -2"));
  BatchRequest hot = greedy_request({5}, 5);
  hot.sampling.temperature = -1;
  EXPECT_THAT(error(hot), HasSubstr("temperature"));
  BatchRequest many = greedy_request({5}, 5);
  many.alternatives = -2;
  EXPECT_THAT(error(many), HasSubstr("alternatives is -2"));
  EXPECT_FALSE(batcher->step()) << "nothing is left of them";
  BatcherOptions options;
  options.token_interval = -1;
  EXPECT_FALSE(Batcher::create(model_, options));
  options.token_interval = NAN;
  EXPECT_FALSE(Batcher::create(model_, options));
  options.token_interval = 0;
  options.unread_events = 0;
  EXPECT_FALSE(Batcher::create(model_, options));
}

TEST_F(EngineBatcher, RequestOfTheWholeContextEndsWhenItIsFull) {
  const auto batcher = open(100, 4);
  const Tokens prompt = some_tokens(90, 1);
  const auto stream = submit(*batcher, greedy_request(prompt, -1));
  const auto next = submit(*batcher, greedy_request(some_tokens(50, 2), 3));
  run(*batcher);
  Received all;
  all.take(*stream);
  ASSERT_TRUE(all.end);
  EXPECT_EQ(all.end->reason, BatchEnd::kContextFull);
  EXPECT_EQ(all.tokens, alone(prompt, 11));
  Received waited;
  waited.take(*next);
  ASSERT_TRUE(waited.end);
  EXPECT_EQ(waited.end->reason, BatchEnd::kLength);
}

TEST_F(EngineBatcher, PromptOfTheWholeContextGetsOneToken) {
  const auto batcher = open(100, 4);
  const Tokens prompt = some_tokens(100, 1);
  const Tokens other = some_tokens(40, 2);
  const auto before = submit(*batcher, greedy_request(other, 5));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(batcher->step());
  const auto stream = submit(*batcher, greedy_request(prompt, -1));
  const auto after = submit(*batcher, greedy_request(other, 5));
  run(*batcher);
  Received all;
  all.take(*stream);
  ASSERT_TRUE(all.end);
  EXPECT_EQ(all.end->reason, BatchEnd::kContextFull);
  EXPECT_EQ(all.tokens, alone(prompt, 1));
  for (BatchStream* each : {before.get(), after.get()}) {
    Received others;
    others.take(*each);
    EXPECT_EQ(others.tokens, alone(other, 5));
  }
}

/// Texts of many sequences seldom all fill their contexts.
TEST_F(EngineBatcher, DefaultContextIsThatOfEightSequences) {
  for (const std::int64_t sequences : {1, 3, 8, 9, 64}) {
    const auto batcher = open(0, sequences);
    EXPECT_EQ(batcher->context(), std::min<std::int64_t>(sequences, 8) * 2048);
    SessionOptions options;
    options.sequences = sequences;
    EXPECT_EQ((*Session::create(model_, options))->context(), batcher->context());
  }
}

/// So that a model that was loaded for such a session has room for the batcher.
TEST_F(EngineBatcher, MemoryAndNotesAreThoseOfItsSession) {
  const auto batcher = open(2000, 600);
  SessionOptions options;
  options.context = 2000;
  options.sequences = 600;
  options.cache_type = DType::kF32;
  const auto session = *Session::create(model_, Batcher::session_options(options));
  EXPECT_GT(batcher->memory().cache, 0U);
  EXPECT_EQ(batcher->memory().cache, session->memory().cache);
  EXPECT_EQ(batcher->memory().activations, session->memory().activations);
  EXPECT_FALSE(batcher->notes().empty());
  EXPECT_EQ(batcher->notes(), session->notes());
}

TEST_F(EngineBatcher, FilterAndStopTokensDecideTheText) {
  const auto batcher = open(1000, 4);
  const Tokens prompt = some_tokens(30, 1);
  const Tokens free = alone(prompt, 10);
  BatchRequest without = greedy_request(prompt, 10);
  without.filter = [&](std::span<const std::int32_t> picked, std::span<float> logits) {
    EXPECT_LE(picked.size(), 10U);
    logits[static_cast<std::size_t>(free[0])] = -INFINITY;
  };
  const auto filtered = submit(*batcher, without);
  BatchRequest nothing = greedy_request(prompt, 10);
  nothing.filter = [](std::span<const std::int32_t>, std::span<float> logits) {
    std::ranges::fill(logits, NAN);
  };
  const auto failed = submit(*batcher, nothing);
  BatchRequest throws = greedy_request(prompt, 10);
  throws.filter = [](std::span<const std::int32_t>, std::span<float>) { throw std::bad_alloc(); };
  const auto thrown = submit(*batcher, throws);
  BatchRequest stops = greedy_request(prompt, 10);
  stops.stop_tokens = {free[4]};
  const auto stopped = submit(*batcher, stops);
  run(*batcher);
  Received a;
  a.take(*filtered);
  EXPECT_EQ(a.tokens.size(), 10U);
  EXPECT_EQ(std::ranges::count(a.tokens, free[0]), 0);
  for (BatchStream* stream : {failed.get(), thrown.get()}) {
    Received b;
    b.take(*stream);
    ASSERT_TRUE(b.end);
    EXPECT_EQ(b.end->reason, BatchEnd::kFailed);
    ASSERT_TRUE(b.end->error);
    EXPECT_FALSE(b.end->error->message().empty());
  }
  Received c;
  c.take(*stopped);
  ASSERT_TRUE(c.end);
  EXPECT_EQ(c.end->reason, BatchEnd::kStopToken);
  const auto first = std::ranges::find(free, free[4]) - free.begin();
  EXPECT_EQ(c.tokens, Tokens(free.begin(), free.begin() + first));
}

TEST_F(EngineBatcher, LogProbabilitiesAreThoseOfTheModel) {
  const auto batcher = open(1000, 4);
  const Tokens prompt = some_tokens(30, 1);
  BatchRequest request = greedy_request(prompt, 1);
  request.alternatives = 3;
  const auto stream = submit(*batcher, request);
  run(*batcher);
  Received all;
  all.take(*stream);
  ASSERT_EQ(all.events.size(), 1U);
  SessionOptions options;
  options.context = 100;
  options.cache_type = DType::kF32;
  const auto session = *Session::create(model_, options);
  const auto logits = *session->append(prompt);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  const auto expected = [&](std::int32_t token) {
    return logits[static_cast<std::size_t>(token)] - std::log(sum);
  };
  const BatchEvent& event = all.events[0];
  EXPECT_NEAR(event.log_probability, expected(event.token), 1e-4);
  ASSERT_EQ(event.alternatives.size(), 3U);
  EXPECT_EQ(event.alternatives[0].first, event.token);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(event.alternatives[i].second, expected(event.alternatives[i].first), 1e-4);
    EXPECT_LE(event.alternatives[i].second, event.alternatives[i == 0 ? 0 : i - 1].second);
  }
}

TEST_F(EngineBatcher, PromptAloneIsComputedWithoutTokens) {
  const auto batcher = open(1000, 4);
  const auto stream = submit(*batcher, greedy_request(some_tokens(100, 1), 0));
  run(*batcher);
  Received all;
  all.take(*stream);
  ASSERT_TRUE(all.end);
  EXPECT_EQ(all.end->reason, BatchEnd::kLength);
  EXPECT_EQ(all.end->computed_tokens, 100);
  EXPECT_TRUE(all.tokens.empty());
}

/// More requests than sequences: the important ones go first.
TEST_F(EngineBatcher, PriorityDecidesWhoRuns) {
  const auto batcher = open(1000, 1);
  std::vector<std::unique_ptr<BatchStream>> streams;
  for (const std::int64_t priority : {0, 0, 5}) {
    BatchRequest request = greedy_request(some_tokens(20, static_cast<std::uint32_t>(priority)), 2);
    request.priority = priority;
    streams.push_back(submit(*batcher, request));
  }
  std::vector<std::size_t> ended;
  std::vector<Received> received(streams.size());
  for (int i = 0; i < 50 && ended.size() < streams.size(); ++i) {
    batcher->step();
    now_ += 1;
    for (std::size_t s = 0; s < streams.size(); ++s) {
      if (received[s].end) continue;
      received[s].take(*streams[s]);
      if (received[s].end) ended.push_back(s);
    }
  }
  EXPECT_THAT(ended, ::testing::ElementsAre(2, 0, 1));
  EXPECT_GT(received[1].end->wait_seconds, received[0].end->wait_seconds);
}

TEST_F(EngineBatcher, DeviceThatFailsIsLeftOutForAllRequests) {
  TestDevice device(TestDeviceConfig{});
  const std::vector<Device*> devices = {&device, registry_->devices().back()};
  LoadOptions load;
  load.placement.rules_only = true;
  load.on_device_error.mode = DeviceErrorMode::kFallback;
  const auto own = model_;
  const std::shared_ptr<const Model> model = *Model::load(file_.path(), devices, load);
  model_ = model;
  const auto batcher = open(1000, 4);
  model_ = own;
  const Tokens prompt = some_tokens(80, 1);
  const Tokens other = some_tokens(40, 2);
  const auto first = submit(*batcher, greedy_request(prompt, 10));
  const auto second = submit(*batcher, greedy_request(other, 10));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(batcher->step());
  device.fail_at({.any = 1, .for_good = true});
  run(*batcher);
  EXPECT_EQ(model->state()->devices.size(), 1U);
  Received a;
  a.take(*first);
  EXPECT_EQ(a.tokens, alone(prompt, 10));
  Received b;
  b.take(*second);
  EXPECT_EQ(b.tokens, alone(other, 10));
}

/// With a thread of its own, and readers of theirs.
TEST_F(EngineBatcher, ThreadsSubmitReadAndCancelConcurrently) {
  BatcherOptions options;
  options.session.context = 800;
  options.session.sequences = 4;
  options.session.cache_type = DType::kF32;
  options.unread_events = 3;
  const auto batcher = *Batcher::create(model_, options);
  const Tokens prompt = some_tokens(70, 9);
  const Tokens expected = alone(prompt, 15);
  std::vector<std::jthread> users;
  for (std::uint32_t user = 0; user < 4; ++user) {
    users.emplace_back([&, user] {
      for (int i = 0; i < 4; ++i) {
        BatchRequest request = greedy_request(prompt, 15);
        request.scope = std::to_string(user);
        const auto stream = batcher->submit(request);
        ASSERT_TRUE(stream);
        Received all;
        if (i == 2) (*stream)->cancel();
        all.take_all(**stream);
        ASSERT_TRUE(all.end);
        if (i == 2) continue;
        EXPECT_EQ(all.end->reason, BatchEnd::kLength);
        EXPECT_EQ(all.tokens, expected);
        EXPECT_GT(batcher->memory().cache, 0U);
        EXPECT_FALSE(batcher->notes().empty());
      }
    });
  }
  users.clear();
}

TEST_F(EngineBatcher, StreamsOutliveTheBatcher) {
  auto batcher = open(1000, 4);
  const auto stream = submit(*batcher, greedy_request(some_tokens(10, 1), -1));
  for (int i = 0; i < 5; ++i) batcher->step();
  const auto waiting = submit(*batcher, greedy_request(some_tokens(10, 1), -1));
  batcher.reset();
  for (BatchStream* each : {stream.get(), waiting.get()}) {
    Received all;
    all.take_all(*each);
    ASSERT_TRUE(all.end);
    EXPECT_EQ(all.end->reason, BatchEnd::kCancelled);
    each->cancel();
  }
}

}  // namespace
}  // namespace shunt::test::engine_batcher_test
