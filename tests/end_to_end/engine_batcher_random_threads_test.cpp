// Many requests of several threads, in a context that holds a third of them, while a thread of the
// batcher makes the steps. With cpu.deterministic each gives the bits that it gives alone. Beside a
// device that fails, its logits differ in the last digits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>

#include "base/to_size.h"
#include "engine/model_state.h"
#include "shunt/batcher.h"
#include "support/models.h"
#include "support/session_tokens.h"
#include "support/test_architectures.h"
#include "support/test_device.h"
#include "support/test_model.h"

namespace shunt::test::engine_batcher_random_threads_test {
namespace {

using Logits = std::vector<float>;

constexpr std::string_view kLlama = "llama";
/// Of the logits of devices, which add up in other orders.
constexpr float kTolerance = 1e-4F;
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

/// The device beside the CPU.
enum class Beside : std::uint8_t {
  kNone,
  kMultiplies,  ///< it can only multiply
  kFails,       ///< it fails in the middle, and is left out
};

struct Param {
  std::string_view architecture;
  Beside beside = Beside::kNone;
};

class EngineBatcherRandomThreads : public ::testing::TestWithParam<Param> {
 protected:
  EngineBatcherRandomThreads() {
    Options options;
    options.threads = 2;
    options.backend_options["cpu"]["deterministic"] = "on";
    registry_ = std::move(*Registry::create(options));
    if (GetParam().architecture == kLlama) {
      EXPECT_TRUE(write_synth_model(path_, tiny_shape()));
    } else {
      write_test_model(path_, {.architecture = GetParam().architecture});
    }
    if (beside() == Beside::kMultiplies) config_.ops = {"matmul"};
    if (beside() != Beside::kNone) device_ = std::make_unique<TestDevice>(config_);
    model_ = load(device_.get());
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

  static Beside beside() { return GetParam().beside; }

  /// On a device, if any, and the CPU.
  std::shared_ptr<const Model> load(TestDevice* device) {
    LoadOptions options;
    options.architectures = test_architectures();
    options.placement.rules_only = true;  // so that the device has a share
    options.on_device_error.mode = DeviceErrorMode::kFallback;
    std::vector<Device*> devices = {registry_->devices().back()};
    if (device != nullptr) devices.insert(devices.begin(), device);
    return *Model::load(path_, devices, options);
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
        const auto expected = all.subspan(at, each);
        if (beside() == Beside::kFails) {
          EXPECT_LE(difference(logits, expected), kTolerance) << compared;
        } else {
          EXPECT_TRUE(std::ranges::equal(logits, expected)) << compared;
        }
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
  TestDeviceConfig config_;
  std::unique_ptr<TestDevice> device_;
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
    if (beside() == Beside::kFails) device_->fail_at({.any = 2000, .for_good = true});
    std::vector<std::jthread> users;
    for (std::vector<Request>& of_user : requests_)
      users.emplace_back([&batcher, &of_user] { use(*batcher, of_user); });
  }
  // Alone on such devices as the requests began on.
  TestDevice sound(config_);
  const auto session = *Session::create(load(device_ ? &sound : nullptr),
                                        {.context = 1000, .cache_type = DType::kF32});
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
  if (!device_) return;
  EXPECT_GT(device_->computed(), 0U);
  EXPECT_EQ(model_->state()->devices.size(), beside() == Beside::kFails ? 1U : 2U);
}

std::string name_of(const ::testing::TestParamInfo<Param>& info) {
  static constexpr std::array<std::string_view, 3> kNames = {"", "BesideMultiplier",
                                                             "BesideFailingDevice"};
  return std::string(info.param.architecture) +
         std::string(kNames[static_cast<std::size_t>(info.param.beside)]);
}

INSTANTIATE_TEST_SUITE_P(, EngineBatcherRandomThreads,
                         ::testing::Values(Param{kLlama}, Param{kWindows}, Param{kHybrid},
                                           Param{kLlama, Beside::kMultiplies},
                                           Param{kLlama, Beside::kFails},
                                           Param{kWindows, Beside::kFails},
                                           Param{kHybrid, Beside::kFails}),
                         name_of);

}  // namespace
}  // namespace shunt::test::engine_batcher_random_threads_test
