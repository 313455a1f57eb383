// The content of a batcher's steps, the order of requests, and their costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "base/to_size.h"
#include "engine/batch/batch_engine.h"
#include "support/batch_requests.h"
#include "support/test_device.h"

namespace shunt::test::engine_batcher_steps_test {
namespace {

class EngineBatcherSteps : public BatcherTest {};

TEST_F(EngineBatcherSteps, HoldATokenOfEachRunningRequestThenPiecesOfPrompts) {
  BatcherOptions options = batcher_options(1000, 4);
  options.session.batch = 32;
  const auto batcher = open(options);
  std::vector<BatchReader> running;
  for (std::uint32_t i = 0; i < 3; ++i)
    running.push_back(submit_to(*batcher, greedy_request(some_tokens(5, i), -1)));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(batcher->step());
  for (BatchReader& each : running) each.read();
  const Tokens prompt = some_tokens(300, 9);
  BatchReader last = submit_to(*batcher, greedy_request(prompt, 1));
  int steps = 0;
  for (; !last.end; ++steps) {
    ASSERT_LT(steps, 100);
    const std::int64_t before = batcher->statistics().computed_tokens;
    ASSERT_TRUE(batcher->step());
    EXPECT_LE(batcher->statistics().computed_tokens - before, 32);
    for (BatchReader& each : running) {
      const std::size_t tokens = each.tokens.size();
      each.read();
      EXPECT_EQ(each.tokens.size(), tokens + 1) << "step " << steps;
    }
    last.read();
  }
  EXPECT_EQ(steps, (300 + 28) / 29);
  EXPECT_EQ(last.tokens, alone(prompt, 1));
}

/// They leave their device, which only they do.
TEST_F(EngineBatcherSteps, MakeLogitsOfSampledTokensOnly) {
  TestDevice device(TestDeviceConfig{});
  const std::vector<Device*> devices = {&device, registry_->devices().back()};
  LoadOptions load;
  load.placement.rules_only = true;
  const std::shared_ptr<const Model> model = *Model::load(file_.path(), devices, load);
  BatcherOptions options = batcher_options(1000, 4);
  options.session.batch = 16;
  const auto batcher = *Batcher::create(model, options);
  std::vector<BatchReader> readers;
  for (std::uint32_t i = 0; i < 3; ++i)
    readers.push_back(submit_to(*batcher, greedy_request(some_tokens(50 + 10 * i, i), 4)));
  readers.push_back(submit_to(*batcher, greedy_request(some_tokens(20, 4), 0)));
  std::size_t without = 0;
  std::size_t before = device.sent();
  while (batcher->step()) {
    std::size_t sampled = 0;
    for (BatchReader& each : readers) {
      const std::size_t tokens = each.tokens.size();
      each.read();
      sampled += each.tokens.size() - tokens;
    }
    EXPECT_EQ(device.sent() - before, sampled * to_size(kSessionVocabulary) * sizeof(float));
    before = device.sent();
    if (sampled == 0) ++without;
  }
  EXPECT_GT(without, 1U);
}

TEST_F(EngineBatcherSteps, RowsComeFromTheYoungestOfTheLowestPriority) {
  const auto batcher = open(200, 4);
  std::vector<BatchReader> readers;
  std::vector<Tokens> prompts;
  for (const std::int64_t priority : {1, 0, 0, 1}) {
    prompts.push_back(some_tokens(30, static_cast<std::uint32_t>(prompts.size())));
    BatchRequest request = greedy_request(prompts.back(), 60);
    request.priority = priority;
    readers.push_back(submit_to(*batcher, request));
  }
  std::vector<std::size_t> paused;  // in this order, for the first time
  while (batcher->step()) {
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const std::size_t tokens = readers[i].tokens.size();
      readers[i].read();
      const bool stands = readers[i].tokens.size() == tokens && !readers[i].end;
      if (stands && std::ranges::count(paused, i) == 0) paused.push_back(i);
    }
  }
  EXPECT_THAT(paused, ::testing::ElementsAre(2, 1));
  for (std::size_t i = 0; i < readers.size(); ++i) {
    EXPECT_EQ(readers[i].tokens, alone(prompts[i], 60)) << i;
    EXPECT_EQ(readers[i].end->pauses > 0, i == 1 || i == 2) << i;
  }
}

/// On a clock where a step takes `step` seconds, and a millisecond for each token.
TEST_F(EngineBatcherSteps, TokensOfARunningRequestComeWithinTheInterval) {
  struct Case {
    double step, interval, bound;
  };
  constexpr Case kCases[] = {{0.005, 0.05, 0.05},   // given
                             {0.005, 0, 0.02},      // at least 20 ms
                             {0.099, 0, 2 * 0.1}};  // twice a step of generating alone
  for (const auto& [step, interval, bound] : kCases) {
    SCOPED_TRACE(bound);
    const auto session =
        *Session::create(model_, {.context = 1500, .sequences = 2, .cache_type = DType::kF32});
    BatcherOptions options = batcher_options(1500, 2);
    options.token_interval = interval;
    std::int64_t computed = 0;
    double now = 0;
    options.clock = [&, seconds = step] {
      if (session->computed() != computed)
        now += seconds + 0.001 * static_cast<double>(session->computed() - computed);
      computed = session->computed();
      return now;
    };
    BatchEngine engine(*session, options);
    BatchReader running = {.stream = *engine.submit(greedy_request(some_tokens(5, 1), -1))};
    while (running.tokens.size() < 3) {
      ASSERT_TRUE(engine.step());
      running.read();
    }
    BatchReader prompt = {.stream = *engine.submit(greedy_request(some_tokens(1200, 2), 1))};
    double before = now, longest = 0;
    while (!prompt.end) {
      ASSERT_TRUE(engine.step());
      const std::size_t tokens = running.tokens.size();
      running.read();
      prompt.read();
      ASSERT_EQ(running.tokens.size(), tokens + 1);
      longest = std::max(longest, now - before);
      before = now;
    }
    EXPECT_LE(longest, bound + 1e-9);
    EXPECT_GT(longest, 0.9 * bound) << "prompts get all the time that is left";
  }
}

/// A step takes a second.
TEST_F(EngineBatcherSteps, RequestsReportTheirTimes) {
  BatcherOptions options = batcher_options(500, 1);
  options.session.batch = 16;
  const auto batcher = open(options);
  BatchReader first = submit_to(*batcher, greedy_request(some_tokens(40, 1), 5));
  now_ += 10;
  BatchReader second = submit_to(*batcher, greedy_request(some_tokens(10, 2), 2));
  while (batcher->step()) now_ += 1;
  for (BatchReader* each : {&first, &second}) each->read();
  ASSERT_TRUE(first.end && second.end);
  EXPECT_EQ(first.end->wait_seconds, 10);
  EXPECT_EQ(first.end->prompt_seconds, 2) << "steps of 16, 16 and 8 tokens";
  EXPECT_EQ(first.end->generate_seconds, 4);
  EXPECT_EQ(second.end->wait_seconds, 7);
  EXPECT_EQ(second.end->prompt_seconds, 0);
  EXPECT_EQ(second.end->generate_seconds, 1);
}

/// One thread makes the steps; callers do not wait for it.
TEST_F(EngineBatcherSteps, ThreadsOfCallersDoNotWaitForAStep) {
  BatcherOptions options = batcher_options(500, 4);
  options.own_thread = true;
  options.clock = {};
  const auto batcher = open(options);
  std::latch started(1), go_on(1);
  BatchRequest request = greedy_request(some_tokens(10, 1), 3);
  request.filter = [&](std::span<const std::int32_t> picked, std::span<float>) {
    if (!picked.empty()) return;
    started.count_down();
    go_on.wait();
  };
  BatchReader blocked = submit_to(*batcher, request);
  started.wait();
  // A step is in its middle now.
  BatchReader dropped = submit_to(*batcher, greedy_request(some_tokens(20, 2), 3));
  BatchReader cancelled = submit_to(*batcher, greedy_request(some_tokens(20, 2), 3));
  EXPECT_FALSE(blocked.stream->poll());
  cancelled.stream->cancel();
  dropped.stream.reset();
  EXPECT_EQ(batcher->statistics().waiting, 3) << "as of the last step, and those since";
  go_on.count_down();
  for (BatchReader* each : {&blocked, &cancelled}) {
    while (const auto event = each->stream->next()) each->end = event->end;
  }
  EXPECT_EQ(blocked.reason(), BatchEnd::kLength);
  EXPECT_EQ(cancelled.reason(), BatchEnd::kCancelled);
}

/// Threads that read the memory all the time wait for steps, and steps for them, in turn.
TEST_F(EngineBatcherSteps, ThreadsThatReadDoNotStopTheSteps) {
  constexpr std::int64_t kMost = 200000;  // calls of all threads
  BatcherOptions options = batcher_options(500, 4);
  options.own_thread = true;
  options.clock = {};
  const auto batcher = open(options);
  std::atomic<bool> over = false;
  std::atomic<std::int64_t> calls = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      while (!over && calls < kMost) {
        EXPECT_GT(batcher->memory().cache, 0U);
        ++calls;
      }
    });
  }
  BatchReader reader = submit_to(*batcher, greedy_request(some_tokens(10, 1), 100));
  while (const auto event = reader.stream->next()) reader.end = event->end;
  over = true;
  EXPECT_LT(calls, kMost) << "steps waited until there were no more calls";
  EXPECT_EQ(reader.reason(), BatchEnd::kLength);
}

}  // namespace
}  // namespace shunt::test::engine_batcher_steps_test
