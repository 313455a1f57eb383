// Many requests of random prompts, in a context that holds a third of them. Each gives the logits
// that it gives alone, whatever pauses, is cancelled or fails beside it. With cpu.deterministic
// they have the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <tuple>

#include "base/to_size.h"
#include "engine/model_state.h"
#include "shunt/batcher.h"
#include "support/models.h"
#include "support/sanitized.h"
#include "support/session_tokens.h"
#include "support/test_architectures.h"
#include "support/test_device.h"
#include "support/test_model.h"

namespace shunt::test::engine_batcher_random_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Logits = std::vector<float>;

constexpr std::string_view kLlama = "llama";
/// A device adds up in double precision, and pieces of prompts have other shapes than alone.
constexpr float kTolerance = 1e-4F;
constexpr std::int64_t kMaxPrompt = kSanitized ? 300 : 700;
constexpr std::size_t kRequests = 64;

/// The devices beside the CPU.
enum class Beside : std::uint8_t {
  kNone,
  kMultiplies,  ///< one that can only multiply matrices
  kFails,       ///< one that has caches, and fails in the middle
};

struct Request {
  // Chosen before the first step.
  std::int64_t arrival = 0;              ///< the step that it is submitted before
  Tokens own = {};                       ///< the prompt, or its end if it is a fork
  std::optional<std::size_t> fork = {};  ///< the request whose text the prompt begins with
  std::int64_t max_tokens = 0;
  std::optional<std::int64_t> cancel = {};  ///< the step that it is cancelled before

  Tokens prompt = {};
  std::unique_ptr<BatchStream> stream = {};
  Tokens picked = {};
  std::vector<Logits> logits = {};  ///< that each picked token was picked from
  std::optional<BatchResult> end = {};

  void take_events() {
    while (const auto event = stream->poll()) {
      ASSERT_FALSE(end) << "an event after the end";
      if (event->end) {
        end = event->end;
      } else {
        picked.push_back(event->token);
      }
    }
  }
};

std::vector<Request> random_requests(std::mt19937& random) {
  const auto below = [&](std::size_t count) { return random() % count; };
  std::vector<Request> requests(kRequests);
  std::int64_t step = 0;
  for (std::size_t i = 0; i < kRequests; ++i) {
    Request& request = requests[i];
    request.arrival = step;
    if (below(8) == 0) step += static_cast<std::int64_t>(below(20));  // else at once
    request.max_tokens = 1 + static_cast<std::int64_t>(below(150));
    std::size_t length = 1 + below(to_size(kMaxPrompt));
    if (i > 0 && below(4) == 0) {
      request.fork = below(i);
      length = 1 + below(20);
    }
    request.own = some_tokens(length, static_cast<std::uint32_t>(i));
    if (below(6) == 0) request.cancel = request.arrival + static_cast<std::int64_t>(below(60));
  }
  return requests;
}

/// A third of the tokens of all requests.
std::int64_t context_for(const std::vector<Request>& requests) {
  std::int64_t tokens = 0;
  for (const Request& request : requests) tokens += std::ssize(request.own) + request.max_tokens;
  return tokens / 4;
}

/// Whether the CPU computes with --deterministic.
enum class Cpu : std::uint8_t { kFast, kDeterministic };

using Param = std::tuple<std::string_view, Beside, Cpu>;

class EngineBatcherRandom : public ::testing::TestWithParam<Param> {
 protected:
  EngineBatcherRandom() {
    Options options;
    options.threads = 2;
    if (is_deterministic()) options.backend_options["cpu"]["deterministic"] = "on";
    registry_ = std::move(*Registry::create(options));
    const auto [architecture, beside, cpu] = GetParam();
    if (architecture == kLlama) {
      EXPECT_TRUE(write_synth_model(path_, tiny_shape()));
    } else {
      write_test_model(path_, {.architecture = architecture, .layers = layers()});
    }
    if (beside == Beside::kMultiplies) config_.ops = {"matmul"};
    if (beside != Beside::kNone) device_ = std::make_unique<TestDevice>(config_);
  }

  std::shared_ptr<const Model> load(std::span<Device* const> devices) {
    LoadOptions options;
    options.architectures = test_architectures();
    options.placement.rules_only = true;  // so that the device has a share
    options.on_device_error.mode = DeviceErrorMode::kFallback;
    options.on_device_error.log = [this](std::string_view line) { log_.emplace_back(line); };
    auto model = Model::load(path_, devices, options);
    EXPECT_TRUE(model) << model.error().message();
    return std::move(*model);
  }
  Beside beside() const { return std::get<Beside>(GetParam()); }
  bool is_deterministic() const { return std::get<Cpu>(GetParam()) == Cpu::kDeterministic; }
  bool is_mixed() const { return std::get<std::string_view>(GetParam()) == kMixed; }
  std::int64_t layers() const { return is_mixed() ? 6 : 2; }
  Device& cpu() { return *registry_->devices().back(); }

  std::vector<Device*> all_devices() {
    if (device_) return {device_.get(), &cpu()};
    return {&cpu()};
  }

  void open_batcher(std::int64_t context) {
    model_ = load(all_devices());
    BatcherOptions options;
    options.session.context = context;
    // Of few sequences, caches for windows have fewer rows than the others.
    options.session.sequences = is_mixed() ? 8 : kRequests;
    options.session.cache_type = DType::kF32;
    options.own_thread = false;
    // The times of steps decide how many tokens of prompts a step gets.
    options.clock = [this] { return now_ += 0.001 * static_cast<double>(random_() % 40); };
    auto batcher = Batcher::create(model_, options);
    ASSERT_TRUE(batcher) << batcher.error().message();
    batcher_ = std::move(*batcher);
  }

  void submit(Request& request) {
    if (request.fork) {
      const Request& other = requests_[*request.fork];
      request.prompt = other.prompt;
      request.prompt.insert(request.prompt.end(), other.picked.begin(), other.picked.end());
      request.prompt.resize(std::min(request.prompt.size(), to_size(kMaxPrompt) - 20));
    }
    request.prompt.insert(request.prompt.end(), request.own.begin(), request.own.end());
    BatchRequest wanted;
    wanted.tokens = request.prompt;
    wanted.max_tokens = request.max_tokens;
    wanted.sampling.temperature = 0;
    wanted.ignore_end = true;
    wanted.filter = [&](std::span<const std::int32_t> picked, std::span<float> logits) {
      EXPECT_EQ(picked.size(), request.logits.size());
      request.logits.emplace_back(logits.begin(), logits.end());
    };
    auto stream = batcher_->submit(std::move(wanted));
    ASSERT_TRUE(stream) << stream.error().message();
    request.stream = std::move(*stream);
  }

  /// Makes steps until all requests have ended.
  void run() {
    std::size_t ended = 0;
    bool failing = false;
    for (std::int64_t step = 0; ended < kRequests; ++step) {
      ASSERT_LT(step, 10000) << "it never ends";
      for (Request& request : requests_) {
        if (request.arrival == step) submit(request);
        if (request.cancel == step) request.stream->cancel();
      }
      if (beside() == Beside::kFails && !failing && ended > kRequests / 3) {
        device_->fail_at({.any = 100, .for_good = true});
        failing = true;
      }
      batcher_->step();
      ended = 0;
      for (Request& request : requests_) {
        if (request.stream) request.take_events();
        if (request.end) ++ended;
      }
    }
  }

  /// Compares the logits of all picked tokens with those of the same text in `session`.
  void expect_as_alone(const Request& request, Session& session) const {
    const std::size_t count = request.picked.size();
    ASSERT_EQ(request.logits.size(), count);
    if (count == 0) return;
    std::size_t compared = 0;
    const auto compare = [&](std::span<const float> expected) {
      const Logits& logits = request.logits[compared];
      const auto likeliest = std::ranges::max_element(logits) - logits.begin();
      EXPECT_EQ(request.picked[compared], likeliest);
      if (is_deterministic()) {
        EXPECT_TRUE(std::ranges::equal(logits, expected)) << "of picked token " << compared;
      } else {
        EXPECT_LE(difference(logits, expected), kTolerance) << "of picked token " << compared;
      }
      ++compared;
    };
    ASSERT_TRUE(session.truncate(0));
    const auto first = session.append(request.prompt);
    ASSERT_TRUE(first) << first.error().message();
    compare(*first);
    const auto each = to_size(session.model().info().vocabulary);
    if (count == 1) return;
    const Status rest = session.append_all(std::span(request.picked).first(count - 1),
                                           [&](std::size_t, std::span<const float> all) {
                                             for (std::size_t at = 0; at < all.size(); at += each)
                                               compare(all.subspan(at, each));
                                           });
    ASSERT_TRUE(rest) << rest.error().message();
    EXPECT_EQ(compared, count);
  }

  TempFolder folder_;
  const std::string path_ = folder_.file("model.gguf");
  std::unique_ptr<Registry> registry_;
  TestDeviceConfig config_;
  std::unique_ptr<TestDevice> device_;
  std::vector<std::string> log_;
  std::mt19937 random_{7};
  double now_ = 0;
  std::vector<Request> requests_ = random_requests(random_);
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Batcher> batcher_;
};

std::string name_of(const ::testing::TestParamInfo<Param>& info) {
  static constexpr std::array<std::string_view, 3> kNames = {"Alone", "BesideMultiplier",
                                                             "BesideFailingDevice"};
  const auto [architecture, beside, cpu] = info.param;
  return std::string(architecture) + std::string(kNames[static_cast<std::size_t>(beside)]) +
         (cpu == Cpu::kDeterministic ? "Deterministic" : "");
}

INSTANTIATE_TEST_SUITE_P(, EngineBatcherRandom,
                         ::testing::Combine(::testing::Values(kLlama, kWindows, kHybrid, kMixed),
                                            ::testing::Values(Beside::kNone, Beside::kMultiplies,
                                                              Beside::kFails),
                                            ::testing::Values(Cpu::kFast)),
                         name_of);
// The bits of a device that fails are not those of the CPU.
INSTANTIATE_TEST_SUITE_P(Deterministic, EngineBatcherRandom,
                         ::testing::Combine(::testing::Values(kLlama, kWindows, kHybrid),
                                            ::testing::Values(Beside::kNone, Beside::kMultiplies),
                                            ::testing::Values(Cpu::kDeterministic)),
                         name_of);

TEST_P(EngineBatcherRandom, EachRequestGivesTheLogitsThatItGivesAlone) {
  open_batcher(context_for(requests_));
  ASSERT_NO_FATAL_FAILURE(run());
  // Alone on such devices as the requests began on: a device adds up in double precision.
  TestDevice sound(config_);
  std::vector<Device*> devices = {&cpu()};
  if (is_deterministic()) devices = all_devices();
  if (beside() == Beside::kFails) devices.insert(devices.begin(), &sound);
  const auto alone = Session::create(load(devices), {.context = 1000, .cache_type = DType::kF32});
  ASSERT_TRUE(alone) << alone.error().message();
  std::int64_t cancelled = 0, cut_short = 0, cached = 0;
  for (std::size_t i = 0; i < kRequests; ++i) {
    SCOPED_TRACE("request " + std::to_string(i));
    const Request& request = requests_[i];
    if (request.end->reason == BatchEnd::kCancelled) {
      EXPECT_TRUE(request.cancel);
      ++cancelled;
      if (!request.picked.empty()) ++cut_short;
    } else {
      EXPECT_EQ(request.end->reason, BatchEnd::kLength);
      EXPECT_EQ(std::ssize(request.picked), request.max_tokens);
    }
    if (request.fork) cached += request.end->cached_tokens;
    expect_as_alone(request, **alone);
    if (HasFailure()) return;  // the others fail alike
  }
  const BatcherStatistics statistics = batcher_->statistics();
  EXPECT_EQ(statistics.taken, 0) << "rows are lost";
  EXPECT_EQ(statistics.running, 0);
  EXPECT_EQ(statistics.waiting, 0);
  if (!is_mixed()) {
    EXPECT_GT(statistics.pauses, 0) << "there was room for all";
  }
  EXPECT_GT(cancelled, 2);
  EXPECT_GT(cut_short, 0);
  EXPECT_GT(cached, 0) << "no fork found its prefix";
  if (!device_) return;
  EXPECT_GT(device_->computed(), 0U);
  const bool fails = beside() == Beside::kFails;
  EXPECT_EQ(model_->state()->devices.size(), fails ? 1U : 2U);
  if (!fails) return;
  EXPECT_THAT(log_, Contains(HasSubstr("it is computed again")));
}

}  // namespace
}  // namespace shunt::test::engine_batcher_random_test
