// Many requests of several threads, in a context that holds a third of them, while a thread of the
// batcher makes the steps. With cpu.deterministic each gives the bits that it gives alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>

#include "base/to_size.h"
#include "shunt/batcher.h"
#include "support/models.h"
#include "support/session_tokens.h"
#include "support/test_architectures.h"
#include "support/test_model.h"

namespace shunt::test::engine_batcher_random_threads_test {
namespace {

using Logits = std::vector<float>;

constexpr std::string_view kLlama = "llama";
constexpr std::size_t kUsers = 4;
constexpr std::size_t kRequestsOfAUser = 16;
#ifdef __SANITIZE_THREAD__
constexpr std::size_t kMaxPrompt = 200;
constexpr std::int64_t kMaxTokens = 12;
#else
constexpr std::size_t kMaxPrompt = 700;
constexpr std::int64_t kMaxTokens = 50;
#endif

struct Request {
  Tokens prompt = {};
  std::int64_t max_tokens = 0;
  std::int64_t cancel_after = -1;  ///< tokens; -1: never
  std::size_t own = 0;             ///< tokens of a fork's prompt; 0: it is no fork
  Tokens picked = {};
  std::vector<Logits> logits = {};
  std::optional<BatchResult> end = {};
};

class EngineBatcherRandomThreads : public ::testing::TestWithParam<std::string_view> {
 protected:
  EngineBatcherRandomThreads() {
    Options options;
    options.threads = 2;
    options.backend_options["cpu"]["deterministic"] = "on";
    registry_ = std::move(*Registry::create(options));
    if (GetParam() == kLlama) {
      EXPECT_TRUE(write_synth_model(path_, tiny_shape()));
    } else {
      write_test_model(path_, {.architecture = GetParam()});
    }
    LoadOptions load;
    load.architectures = test_architectures();
    model_ = *Model::load(path_, *registry_, load);
    std::mt19937 random(5);
    const auto below = [&](std::size_t count) { return random() % count; };
    for (std::vector<Request>& of_user : requests_) {
      of_user.resize(kRequestsOfAUser);
      for (Request& request : of_user) {
        request.max_tokens = 1 + static_cast<std::int64_t>(below(to_size(kMaxTokens)));
        request.prompt = some_tokens(1 + below(kMaxPrompt), static_cast<std::uint32_t>(random()));
        if (below(4) == 0) request.own = 1 + below(20);
        if (below(5) == 0) request.cancel_after = static_cast<std::int64_t>(below(10));
      }
    }
  }

  /// A third of the tokens of all requests, and enough for each alone.
  std::int64_t context() const {
    std::int64_t tokens = 0;
    for (const auto& of_user : requests_) {
      for (const Request& request : of_user)
        tokens += std::ssize(request.prompt) + request.max_tokens;
    }
    return tokens / 3;
  }

  /// A fork's prompt begins as another one's.
  static Tokens fork_of(const Request& other, const Tokens& own, std::size_t count) {
    Tokens prompt = other.prompt;
    prompt.insert(prompt.end(), other.picked.begin(), other.picked.end());
    prompt.resize(std::min(prompt.size(), kMaxPrompt));
    prompt.insert(prompt.end(), own.begin(),
                  own.begin() + static_cast<std::ptrdiff_t>(std::min(count, own.size())));
    return prompt;
  }

  static std::unique_ptr<BatchStream> submit(Batcher& batcher, Request& request) {
    BatchRequest wanted;
    wanted.tokens = request.prompt;
    wanted.max_tokens = request.max_tokens;
    wanted.sampling.temperature = 0;
    wanted.ignore_end = true;
    wanted.filter = [&request](std::span<const std::int32_t>, std::span<float> logits) {
      request.logits.emplace_back(logits.begin(), logits.end());
    };
    auto stream = batcher.submit(std::move(wanted));
    EXPECT_TRUE(stream) << stream.error().message();
    return std::move(*stream);
  }

  static void read(BatchStream& stream, Request& request) {
    while (const auto event = stream.next()) {
      ASSERT_FALSE(request.end) << "an event after the end";
      if (event->end) {
        request.end = event->end;
      } else {
        request.picked.push_back(event->token);
      }
      if (std::ssize(request.picked) == request.cancel_after) stream.cancel();
    }
  }

  /// A few requests at once, then those that continue them.
  static void use(Batcher& batcher, std::vector<Request>& requests) {
    constexpr std::size_t kAtOnce = 3;
    for (std::size_t first = 0; first < requests.size(); first += kAtOnce) {
      const auto some =
          std::span(requests).subspan(first, std::min(kAtOnce, requests.size() - first));
      std::vector<std::unique_ptr<BatchStream>> streams;
      for (Request& request : some) {
        if (request.own > 0 && first > 0)
          request.prompt = fork_of(requests[first - 1], request.prompt, request.own);
        streams.push_back(submit(batcher, request));
      }
      for (std::size_t i = 0; i < some.size(); ++i) read(*streams[i], some[i]);
    }
  }

  void expect_as_alone(const Request& request, Session& session) const {
    ASSERT_TRUE(request.end);
    if (request.cancel_after < 0) {
      EXPECT_EQ(request.end->reason, BatchEnd::kLength);
      EXPECT_EQ(std::ssize(request.picked), request.max_tokens);
    }
    ASSERT_GE(request.logits.size(), request.picked.size());
    if (request.picked.empty()) return;
    std::size_t compared = 0;
    const auto each = to_size(model_->info().vocabulary);
    const auto compare = [&](std::span<const float> all) {
      for (std::size_t at = 0; at < all.size(); at += each, ++compared) {
        const Logits& logits = request.logits[compared];
        EXPECT_TRUE(std::ranges::equal(logits, all.subspan(at, each))) << compared;
        EXPECT_EQ(request.picked[compared], std::ranges::max_element(logits) - logits.begin());
      }
    };
    ASSERT_TRUE(session.truncate(0));
    const auto first = session.append(request.prompt);
    ASSERT_TRUE(first) << first.error().message();
    compare(*first);
    const auto rest = std::span(request.picked).first(request.picked.size() - 1);
    if (rest.empty()) return;
    ASSERT_TRUE(
        session.append_all(rest, [&](std::size_t, std::span<const float> all) { compare(all); }));
    EXPECT_EQ(compared, request.picked.size());
  }

  TempFolder folder_;
  const std::string path_ = folder_.file("model.gguf");
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<const Model> model_;
  std::array<std::vector<Request>, kUsers> requests_;
};

TEST_P(EngineBatcherRandomThreads, EachRequestGivesTheBitsThatItGivesAlone) {
  BatcherOptions options;
  options.session.context = context();
  options.session.sequences = 8;
  options.session.cache_type = DType::kF32;
  options.unread_events = 4;  // streams are read one after the other
  const auto batcher = *Batcher::create(model_, options);
  {
    std::vector<std::jthread> users;
    for (std::vector<Request>& of_user : requests_)
      users.emplace_back([&batcher, &of_user] { use(*batcher, of_user); });
  }
  const auto session = *Session::create(model_, {.context = 1000, .cache_type = DType::kF32});
  std::int64_t cancelled = 0, cached = 0;
  for (const std::vector<Request>& of_user : requests_) {
    for (const Request& request : of_user) {
      expect_as_alone(request, *session);
      if (HasFailure()) return;
      if (request.end->reason == BatchEnd::kCancelled) ++cancelled;
      cached += request.end->cached_tokens;
    }
  }
  EXPECT_GT(cancelled, 0);
  EXPECT_GT(cached, 0) << "no fork found its prefix";
  EXPECT_EQ(batcher->statistics().taken, 0) << "rows are lost";
}

INSTANTIATE_TEST_SUITE_P(, EngineBatcherRandomThreads, ::testing::Values(kLlama, kWindows, kHybrid),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace shunt::test::engine_batcher_random_threads_test
