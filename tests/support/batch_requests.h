// Requests of a batcher whose steps a test makes, and the events that its readers get.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "shunt/batcher.h"
#include "support/models.h"
#include "support/session_tokens.h"

namespace shunt::test {

/// A request that always takes the likeliest token.
inline BatchRequest greedy_request(Tokens tokens, std::int64_t max_tokens) {
  BatchRequest request;
  request.tokens = std::move(tokens);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  request.ignore_end = true;
  return request;
}

/// A stream, and the events read from it.
struct BatchReader {
  std::unique_ptr<BatchStream> stream = {};
  Tokens tokens = {};
  std::optional<BatchResult> end = {};

  void read() {
    while (const auto event = stream->poll()) {
      ASSERT_FALSE(end) << "an event after the end";
      if (event->end) {
        end = event->end;
      } else {
        tokens.push_back(event->token);
      }
    }
  }
  std::optional<BatchEnd> reason() const { return end ? std::optional(end->reason) : std::nullopt; }
};

inline BatchReader submit_to(Batcher& batcher, BatchRequest request) {
  auto stream = batcher.submit(std::move(request));
  EXPECT_TRUE(stream) << stream.error().message();
  return {.stream = std::move(*stream)};
}

/// Nothing is left of any request.
inline void expect_empty(const Batcher& batcher) {
  const BatcherStatistics statistics = batcher.statistics();
  EXPECT_EQ(statistics.taken, 0);
  EXPECT_EQ(statistics.running, 0);
  EXPECT_EQ(statistics.waiting, 0);
}

/// A small model on the CPU, with cpu.deterministic, and a clock that the test sets.
class BatcherTest : public ::testing::Test {
 protected:
  BatcherTest() {
    Options options;
    options.threads = 2;
    options.backend_options["cpu"]["deterministic"] = "on";
    registry_ = std::move(*Registry::create(options));
    model_ = *Model::load(file_.path(), *registry_);
    alone_ = *Session::create(model_, {.context = 600, .cache_type = DType::kF32});
  }

  BatcherOptions batcher_options(std::int64_t context, std::int64_t sequences) {
    BatcherOptions options;
    options.session.context = context;
    options.session.sequences = sequences;
    options.session.cache_type = DType::kF32;
    options.own_thread = false;
    options.clock = [this] { return now_; };
    return options;
  }
  std::unique_ptr<Batcher> open(const BatcherOptions& options) {
    auto batcher = Batcher::create(model_, options);
    EXPECT_TRUE(batcher) << batcher.error().message();
    return std::move(*batcher);
  }
  std::unique_ptr<Batcher> open(std::int64_t context, std::int64_t sequences) {
    return open(batcher_options(context, sequences));
  }
  static void run(Batcher& batcher) {
    for (int i = 0; batcher.step(); ++i) ASSERT_LT(i, 100000) << "it never ends";
  }

  /// The text that a session of its own gives.
  Tokens alone(const Tokens& prompt, std::size_t count) {
    Tokens& text = known_[prompt];
    while (text.size() < count) {
      Tokens all = prompt;
      all.insert(all.end(), text.begin(), text.end());
      EXPECT_TRUE(alone_->truncate(0));
      const auto logits = alone_->append(all);
      EXPECT_TRUE(logits) << logits.error().message();
      text.push_back(
          static_cast<std::int32_t>(std::ranges::max_element(*logits) - logits->begin()));
    }
    return {text.begin(), text.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  SynthModel file_{session_model()};
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<const Model> model_;
  double now_ = 100;

 private:
  std::unique_ptr<Session> alone_;
  std::map<Tokens, Tokens> known_;
};

}  // namespace shunt::test
