// Requests at the limits of a batcher: very many, of extreme options, cancelled or dropped at any
// time, and those that others would starve. Each ends alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <thread>

#include "base/to_size.h"
#include "shunt/batcher.h"
#include "support/batch_requests.h"

namespace shunt::test::engine_batcher_limits_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

class EngineBatcherLimits : public BatcherTest {};

TEST_F(EngineBatcherLimits, ThousandsOfShortRequestsAndOneOfTheWholeContext) {
  constexpr std::size_t kShort = 4096;
  const auto batcher = open(300, 64);
  const Tokens whole = some_tokens(300, 1);
  std::vector<BatchReader> readers;
  for (std::size_t i = 0; i < kShort; ++i) {
    const auto token = static_cast<std::int32_t>(i % to_size(kSessionVocabulary));
    readers.push_back(submit_to(*batcher, greedy_request({token}, 1)));
    if (i == kShort / 2) readers.push_back(submit_to(*batcher, greedy_request(whole, -1)));
  }
  EXPECT_EQ(batcher->statistics().waiting, std::ssize(readers));
  run(*batcher);
  for (BatchReader& reader : readers) reader.read();
  for (std::size_t i = 0, number = 0; i < readers.size(); ++i) {
    SCOPED_TRACE(i);
    if (i == kShort / 2 + 1) {
      EXPECT_EQ(readers[i].reason(), BatchEnd::kContextFull);
      EXPECT_EQ(readers[i].tokens, alone(whole, 1));
      continue;
    }
    const auto token = static_cast<std::int32_t>(number++ % to_size(kSessionVocabulary));
    ASSERT_EQ(readers[i].reason(), BatchEnd::kLength);
    ASSERT_EQ(readers[i].tokens, alone({token}, 1));
  }
  expect_empty(*batcher);
}

TEST_F(EngineBatcherLimits, PrioritiesAtBothEnds) {
  const auto batcher = open(200, 3);
  std::vector<BatchReader> readers;
  std::vector<Tokens> prompts;
  for (const std::int64_t priority : {kLowest, std::int64_t{0}, kHighest, kLowest, kHighest}) {
    prompts.push_back(some_tokens(30, static_cast<std::uint32_t>(prompts.size())));
    BatchRequest request = greedy_request(prompts.back(), 60);
    request.priority = priority;
    readers.push_back(submit_to(*batcher, request));
  }
  std::vector<std::size_t> ended;
  for (int step = 0; ended.size() < readers.size(); ++step) {
    ASSERT_LT(step, 1000);
    batcher->step();
    for (std::size_t i = 0; i < readers.size(); ++i) {
      if (readers[i].end) continue;
      readers[i].read();
      if (readers[i].end) ended.push_back(i);
    }
  }
  EXPECT_THAT(ended, ElementsAre(2, 4, 1, 0, 3));
  EXPECT_GT(batcher->statistics().pauses, 0);
  for (std::size_t i = 0; i < readers.size(); ++i)
    EXPECT_EQ(readers[i].tokens, alone(prompts[i], 60)) << i;
}

TEST_F(EngineBatcherLimits, Deadlines) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto batcher = open(400, 4);
  const Tokens prompt = some_tokens(20, 1);
  for (const double deadline : {-kInfinity, -1e300, -1.0, 0.0}) {
    BatchRequest request = greedy_request(prompt, 5);
    request.deadline = deadline;
    BatchReader reader = submit_to(*batcher, request);
    run(*batcher);
    reader.read();
    EXPECT_EQ(reader.reason(), BatchEnd::kDeadline) << deadline;
    EXPECT_TRUE(reader.tokens.empty());
  }
  EXPECT_EQ(batcher->statistics().computed_tokens, 0);
  for (const double deadline : {1e-3, 1e300, kInfinity}) {
    BatchRequest request = greedy_request(prompt, 5);
    request.deadline = deadline;
    BatchReader reader = submit_to(*batcher, request);
    run(*batcher);
    reader.read();
    EXPECT_EQ(reader.reason(), BatchEnd::kLength) << deadline;
    EXPECT_EQ(reader.tokens, alone(prompt, 5));
  }
  BatchRequest request = greedy_request(prompt, 5);
  request.deadline = std::nan("");
  const auto refused = batcher->submit(request);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("deadline is nan"));
}

TEST_F(EngineBatcherLimits, CancelledBeforeDuringAndAfter) {
  const auto batcher = open(400, 4);
  const Tokens prompt = some_tokens(20, 1), other = some_tokens(25, 2);
  BatchReader before = submit_to(*batcher, greedy_request(prompt, 5));
  BatchReader during = submit_to(*batcher, greedy_request(prompt, 100));
  BatchReader after = submit_to(*batcher, greedy_request(other, 5));
  before.stream->cancel();
  before.stream->cancel();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(batcher->step());
  after.read();
  EXPECT_EQ(after.reason(), BatchEnd::kLength);
  after.stream->cancel();
  during.stream->cancel();
  ASSERT_TRUE(batcher->step()) << "a request that ends frees its rows within a step";
  expect_empty(*batcher);
  during.stream->cancel();
  EXPECT_FALSE(batcher->step());
  for (BatchReader* each : {&before, &during, &after}) {
    each->read();
    EXPECT_FALSE(each->stream->next()) << "nothing follows the end";
  }
  EXPECT_EQ(before.reason(), BatchEnd::kCancelled);
  EXPECT_TRUE(before.tokens.empty());
  EXPECT_EQ(during.reason(), BatchEnd::kCancelled);
  EXPECT_EQ(during.tokens, alone(prompt, during.tokens.size()));
  EXPECT_GT(during.tokens.size(), 10U);
  EXPECT_EQ(after.tokens, alone(other, 5));
}

/// A filter runs in the middle of a step.
TEST_F(EngineBatcherLimits, RequestsAreCancelledDroppedAndAddedByFilters) {
  const auto batcher = open(400, 4);
  const Tokens prompt = some_tokens(20, 1);
  BatchReader dropped, cancelled, added;
  BatchRequest drops = greedy_request(prompt, 50);
  drops.filter = [&](std::span<const std::int32_t> picked, std::span<float>) {
    if (picked.size() == 3) dropped.stream.reset();
  };
  dropped = submit_to(*batcher, drops);
  BatchRequest cancels = greedy_request(prompt, 50);
  cancels.filter = [&](std::span<const std::int32_t> picked, std::span<float>) {
    if (picked.size() == 5) cancelled.stream->cancel();
  };
  cancelled = submit_to(*batcher, cancels);
  BatchRequest adds = greedy_request(prompt, 10);
  adds.filter = [&](std::span<const std::int32_t> picked, std::span<float>) {
    if (picked.size() == 2) added = submit_to(*batcher, greedy_request(prompt, 7));
    EXPECT_GT(batcher->statistics().running + batcher->statistics().waiting, 0);
  };
  BatchReader adding = submit_to(*batcher, adds);
  run(*batcher);
  cancelled.read();
  EXPECT_EQ(cancelled.reason(), BatchEnd::kCancelled);
  EXPECT_EQ(cancelled.tokens, alone(prompt, 6));
  ASSERT_TRUE(added.stream);
  for (BatchReader* each : {&adding, &added}) each->read();
  EXPECT_EQ(adding.tokens, alone(prompt, 10));
  EXPECT_EQ(added.tokens, alone(prompt, 7));
  expect_empty(*batcher);
}

/// With a thread of the batcher's own.
TEST_F(EngineBatcherLimits, ThreadsDropRequestsAtTheirEvents) {
  BatcherOptions options = batcher_options(400, 4);
  options.own_thread = true;
  options.clock = {};
  const auto batcher = open(options);
  const Tokens prompt = some_tokens(20, 1), other = some_tokens(25, 2);
  const Tokens expected = alone(other, 20);
  std::vector<std::jthread> users;
  for (std::size_t user = 0; user < 3; ++user) {
    users.emplace_back([&, user] {
      for (std::size_t i = 0; i < 5; ++i) {
        BatchReader reader = submit_to(*batcher, greedy_request(prompt, 50));
        for (std::size_t read = 0; read < i + user; ++read) reader.stream->next();
        reader.stream.reset();
        BatchReader whole = submit_to(*batcher, greedy_request(other, 20));
        while (const auto event = whole.stream->next()) {
          if (!event->end) whole.tokens.push_back(event->token);
        }
        EXPECT_EQ(whole.tokens, expected);
      }
    });
  }
  users.clear();
}

/// A grammar may have no way on.
TEST_F(EngineBatcherLimits, FilterWithoutAWayOnEndsItsRequestAlone) {
  const auto batcher = open(400, 4);
  const Tokens prompt = some_tokens(20, 1), other = some_tokens(25, 2);
  std::vector<BatchReader> failing;
  for (const float value : {-std::numeric_limits<float>::infinity(), std::nanf("")}) {
    BatchRequest request = greedy_request(prompt, 10);
    request.filter = [value](std::span<const std::int32_t> picked, std::span<float> logits) {
      if (picked.size() == 4) std::ranges::fill(logits, value);
    };
    failing.push_back(submit_to(*batcher, request));
  }
  BatchReader whole = submit_to(*batcher, greedy_request(other, 10));
  run(*batcher);
  for (BatchReader& each : failing) {
    each.read();
    ASSERT_EQ(each.reason(), BatchEnd::kFailed);
    ASSERT_TRUE(each.end->error);
    EXPECT_EQ(each.end->error->code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(each.tokens, alone(prompt, 4));
  }
  whole.read();
  EXPECT_EQ(whole.reason(), BatchEnd::kLength);
  EXPECT_EQ(whole.tokens, alone(other, 10));
  expect_empty(*batcher);
}

TEST_F(EngineBatcherLimits, LogitsThatAreNotNumbersEndTheirRequestAlone) {
  const std::string broken = file_.folder().file("broken.gguf");
  const auto width = to_size(session_model().width);
  write_edited(file_.path(), broken, [&](EditedFile& file) {
    for (std::size_t i = 0; i < width; ++i)  // the embedding of token 7
      file.set_element("token_embd.weight", 7 * width + i, std::nanf(""));
  });
  model_ = *Model::load(broken, *registry_);
  const auto batcher = open(200, 4);
  Tokens bad = some_tokens(90, 1), good = some_tokens(100, 2);
  std::ranges::replace(good, 7, 8);
  bad[40] = 7;
  BatchReader failing = submit_to(*batcher, greedy_request(bad, 5));
  BatchReader whole = submit_to(*batcher, greedy_request(good, 5));
  run(*batcher);
  failing.read();
  ASSERT_EQ(failing.reason(), BatchEnd::kFailed);
  EXPECT_THAT(failing.end->error->message(), HasSubstr("none of the 300 logits is a number"));
  EXPECT_TRUE(failing.tokens.empty());
  // Another one gets the rows that it leaves.
  BatchReader next = submit_to(*batcher, greedy_request(good, 80));
  run(*batcher);
  for (BatchReader* each : {&whole, &next}) {
    each->read();
    EXPECT_EQ(each->reason(), BatchEnd::kLength);
    EXPECT_EQ(each->tokens, alone(good, each->tokens.size()));
  }
  expect_empty(*batcher);
}

TEST_F(EngineBatcherLimits, OptionsOutOfRangeAreRefused) {
  const auto error = [&](const auto& change) {
    BatcherOptions options = batcher_options(100, 2);
    change(options);
    const auto batcher = Batcher::create(model_, options);
    EXPECT_FALSE(batcher);
    return batcher ? std::string() : batcher.error().message();
  };
  EXPECT_THAT(error([](BatcherOptions& options) { options.session.sequences = 0; }),
              HasSubstr("0 sequences"));
  EXPECT_THAT(error([](BatcherOptions& options) { options.session.sequences = 4097; }),
              HasSubstr("4097 sequences"));
  EXPECT_THAT(error([](BatcherOptions& options) { options.session.sequences = kHighest; }),
              HasSubstr("9223372036854775807 sequences"));
  EXPECT_THAT(error([](BatcherOptions& options) { options.session.sequences = kLowest; }),
              HasSubstr("-9223372036854775808 sequences"));
  EXPECT_THAT(error([](BatcherOptions& options) { options.session.context = -1; }),
              HasSubstr("context"));
  EXPECT_THAT(error([](BatcherOptions& options) {
                options.session.context = SessionOptions::kMaxContext + 1;
              }),
              HasSubstr("context"));
  EXPECT_THAT(error([](BatcherOptions& options) { options.session.checkpoints = -2; }),
              HasSubstr("checkpoints"));
}

/// The numbers of a request, and of each step while it runs.
struct Course {
  std::int64_t computed = 0;
  std::int64_t cached = 0;
  std::vector<std::array<std::int64_t, 4>> steps = {};
  std::vector<std::size_t> ends = {};  // readers in the order of their ends
  bool operator==(const Course&) const = default;
};

/// Requests of one user, before and beside those of another with the same prefix, or with another
/// one. No number of a step depends on that.
TEST_F(EngineBatcherLimits, PrefixOfAScopeDoesNotChangeTheStepsOfAnother) {
  const auto course = [&](const Tokens& prefix_of_other, const std::string& scope) {
    BatcherOptions options = batcher_options(500, 4);
    now_ = 0;
    options.clock = [&] { return now_ += 0.002; };
    const auto batcher = open(options);
    const auto request = [](Tokens prompt, std::uint32_t own, const std::string& of) {
      const Tokens rest = some_tokens(20, own);
      prompt.insert(prompt.end(), rest.begin(), rest.end());
      BatchRequest made = greedy_request(std::move(prompt), 6);
      made.scope = of;
      return made;
    };
    const Tokens prefix = some_tokens(150, 1);
    std::vector<BatchReader> readers;
    readers.push_back(submit_to(*batcher, request(prefix_of_other, 10, scope)));
    run(*batcher);  // its blocks are kept
    for (std::uint32_t i = 0; i < 2; ++i) {
      readers.push_back(submit_to(*batcher, request(prefix_of_other, 11 + i, scope)));
      readers.push_back(submit_to(*batcher, request(prefix, 20 + i, "mine")));
    }
    Course all;
    std::vector<bool> ended(readers.size());
    while (batcher->step()) {
      const BatcherStatistics now = batcher->statistics();
      all.steps.push_back({now.running, now.taken, now.computed_tokens, now.waiting});
      for (std::size_t i = 0; i < readers.size(); ++i) {
        readers[i].read();
        if (!readers[i].end || ended[i]) continue;
        ended[i] = true;
        all.ends.push_back(i);
      }
    }
    for (const std::size_t mine : {2U, 4U}) {
      EXPECT_EQ(readers[mine].reason(), BatchEnd::kLength);
      all.computed += readers[mine].end->computed_tokens;
      all.cached += readers[mine].end->cached_tokens;
    }
    return all;
  };
  const Tokens same = some_tokens(150, 1), other = some_tokens(150, 2);
  const Course without = course(other, "theirs");
  EXPECT_EQ(without.cached, 128) << "of the second one, found by the first one's blocks";
  EXPECT_EQ(course(same, "theirs"), without);
  EXPECT_NE(course(same, "mine"), without) << "the test would notice";
}

/// Important requests of ever new users arrive faster than they end. They grow while the prompt of
/// a request of the lowest priority is computed in small pieces, so that there is no room for all
/// of it. Without rows that it keeps it never gets a token.
TEST_F(EngineBatcherLimits, NoRequestWaitsWithoutEnd) {
  BatcherOptions options = batcher_options(256, 3);
  options.session.batch = 1;  // the least that is possible
  const auto batcher = open(options);
  const Tokens prompt = some_tokens(240, 1);
  BatchRequest humble = greedy_request(prompt, 8);
  humble.priority = kLowest;
  BatchReader reader;
  std::vector<BatchReader> others;
  std::uint32_t number = 2;
  for (int step = 0; !reader.end; ++step) {
    ASSERT_LT(step, 5000) << "it starves; it has " << reader.tokens.size() << " tokens";
    if (step == 6) reader = submit_to(*batcher, humble);
    while (others.size() < 6) {
      BatchRequest request = greedy_request(some_tokens(4, number), 75);
      request.priority = kHighest;
      request.scope = std::to_string(number++);
      others.push_back(submit_to(*batcher, request));
    }
    ASSERT_TRUE(batcher->step());
    now_ += 0.01;
    for (BatchReader& other : others) other.read();
    std::erase_if(others, [](const BatchReader& other) { return other.end.has_value(); });
    if (reader.stream) reader.read();
  }
  EXPECT_EQ(reader.reason(), BatchEnd::kLength);
  EXPECT_EQ(reader.tokens, alone(prompt, 8));
}

}  // namespace
}  // namespace shunt::test::engine_batcher_limits_test
