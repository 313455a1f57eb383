// Every allocation fails once, of the host and of a device, while a model is loaded, a session is
// made and used, and a batcher computes requests. Each failure is an error, or has no effect. The
// text afterwards is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/to_size.h"
#include "shunt/batcher.h"
#include "shunt/engine.h"
#include "support/models.h"
#include "support/replaced_new.h"
#include "support/session_tokens.h"
#include "support/test_architectures.h"
#include "support/test_device.h"
#include "support/test_model.h"

namespace {

/// Allocations until one fails; 0: none does.
std::atomic<std::int64_t> until_failure{0};
/// Allocations from this size on fail.
std::atomic<std::size_t> too_large{std::numeric_limits<std::size_t>::max()};

bool is_time_to_fail() {
  std::int64_t left = until_failure.load(std::memory_order_relaxed);
  while (left > 0) {
    if (until_failure.compare_exchange_weak(left, left - 1)) return left == 1;
  }
  return false;
}

}  // namespace

void* shunt::test::allocate_in_test(std::size_t size, std::size_t alignment) noexcept {
  if (is_time_to_fail() || size >= too_large.load(std::memory_order_relaxed)) return nullptr;
  return allocate_memory(size, alignment);
}

namespace shunt::test::engine_allocations_test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::int64_t kSlower = 20;
#else
constexpr std::int64_t kSlower = 1;
#endif

using Logits = std::vector<float>;

constexpr std::string_view kLlama = "llama";

/// Lets the n-th allocation of all its calls fail.
class Failing {
 public:
  explicit Failing(std::int64_t n) : left_(n) {}
  template <class Call>
  auto operator()(const Call& call) {
    until_failure = left_;
    auto result = call();
    left_ = until_failure.exchange(0);
    return result;
  }
  bool has_failed() const { return left_ == 0; }

 private:
  std::int64_t left_;
};

/// Calls work(failing) for n = 1, 1 + stride, ... until there is no n-th allocation. `near`: the
/// stride of the first 40.
template <class Work>
void each_allocation_fails(std::int64_t stride, std::int64_t least, const Work& work,
                           std::int64_t near = 0) {
  std::int64_t n = 1;
  for (bool failed = true; failed; n += n < 40 && near > 0 ? near : stride) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    Failing failing(n);
    work(failing);
    failed = failing.has_failed();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(n, least) << "the allocations are not counted";
}

/// Which allocations fail.
enum class Which : std::uint8_t {
  kSome,
  kEach,  ///< takes minutes: a disabled test of ./dev ci --full
};

struct Param {
  std::string_view architecture;
  Which which = Which::kSome;

  /// The distance between two that fail.
  std::int64_t stride(std::int64_t of_some) const {
    return which == Which::kEach ? 1 : of_some * kSlower;
  }
  void write_model(const std::string& path) const {
    if (architecture == kLlama) {
      EXPECT_TRUE(write_synth_model(path, tiny_shape()));
    } else {
      write_test_model(path, {.architecture = architecture});
    }
  }
};

std::string name_of(const ::testing::TestParamInfo<Param>& info) {
  return std::string(info.param.architecture);
}

class EngineAllocations : public ::testing::TestWithParam<Param> {
 protected:
  EngineAllocations() {
    Options options;
    options.threads = 1;
    options.backend_options["cpu"]["deterministic"] = "on";
    registry_ = std::move(*Registry::create(options));
    cpu_ = registry_->devices().back();
    GetParam().write_model(path_);
    model_ = *Model::load(path_, {&cpu_, 1}, load_options());
    alone_ = *Session::create(model_, {.context = 600, .cache_type = DType::kF32});
  }

  static LoadOptions load_options() {
    LoadOptions options;
    options.architectures = test_architectures();
    options.placement.rules_only = true;
    options.session = session_options();
    return options;
  }
  static SessionOptions session_options() {
    SessionOptions options;
    options.context = 400;
    options.sequences = 3;
    options.cache_type = DType::kF32;
    options.batch = 96;
    options.reuse_prefixes = true;
    options.checkpoints = 4;
    return options;
  }

  Logits alone(std::span<const std::int32_t> tokens) {
    EXPECT_TRUE(alone_->truncate(0));
    const auto logits = alone_->append(tokens);
    EXPECT_TRUE(logits) << logits.error().message();
    return logits ? Logits(logits->begin(), logits->end()) : Logits();
  }

  static void expect_out_of_memory(const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory) << error.message();
  }

  TempFolder folder_;
  const std::string path_ = folder_.file("model.gguf");
  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Session> alone_;
};

class EngineAllocationsOfAHostCache : public ::testing::TestWithParam<Param> {
 protected:
  EngineAllocationsOfAHostCache() {
    Options options;
    options.threads = 1;
    registry_ = std::move(*Registry::create(options));
    GetParam().write_model(path_);
  }
  TempFolder folder_;
  const std::string path_ = folder_.file("model.gguf");
  std::unique_ptr<Registry> registry_;
};

class EngineAllocationsOfLongPrompts : public ::testing::Test {
 protected:
  SynthModel file_{session_model()};
  std::unique_ptr<Registry> registry_ = *Registry::create({});
};

TEST_P(EngineAllocations, OfLoadingFailOnce) {
  each_allocation_fails(GetParam().stride(41), 1000, [&](Failing& failing) {
    const LoadOptions options = load_options();
    const auto model = failing([&] { return Model::load(path_, {&cpu_, 1}, options); });
    if (!model) expect_out_of_memory(model.error());
  });
}

TEST_P(EngineAllocations, OfMakingASessionFailOnce) {
  each_allocation_fails(GetParam().stride(13), 1000, [&](Failing& failing) {
    const SessionOptions options = session_options();
    const auto session = failing([&] { return Session::create(model_, options); });
    if (!session) expect_out_of_memory(session.error());
  });
}

/// The calls of a session, each of which is made again after an error.
class Calls {
 public:
  Calls(Session& session, std::string saved, Failing& failing)
      : session_(session), saved_(std::move(saved)), failing_(failing) {}

  Status all() {
    const Tokens text = some_tokens(200, 1), other = some_tokens(30, 2), one = {7};
    SHUNT_TRY(append({{0, text}, {1, other}}));
    SHUNT_TRY(repeat([&] { return session_.save(0, saved_); }));
    SHUNT_TRY(repeat([&] { return session_.fork(0, 2, 170); }));
    SHUNT_TRY(append({{2, one}, {0, one}}));
    SHUNT_TRY(repeat([&] { return session_.truncate(100, 0); }));
    SHUNT_TRY(repeat([&] { return session_.fork(1, 2); }));
    SHUNT_TRY(append({{0, other}}));
    SHUNT_TRY(repeat([&] { return session_.restore(1, saved_); }));
    SHUNT_TRY(append({{1, one}}));
    SHUNT_TRY(repeat([&] { return session_.set_scope(0, ""); }));
    SHUNT_TRY(repeat([&]() -> Status {
      const auto found = session_.append_cached(0, text);
      return found ? ok() : Error(found.error());
    }));
    const std::atomic<bool> cancel = true;
    SHUNT_TRY(repeat([&]() -> Status {
      const SequenceTokens piece = {2, other};
      const auto logits = session_.append_each({&piece, 1}, &cancel);
      if (!logits && logits.error().code() == ErrorCode::kCancelled) return ok();
      if (logits) return Error(ErrorCode::kInternal, "it was not cancelled");
      return Error(logits.error());
    }));
    return append({{0, one}, {1, other}, {2, one}});
  }
  int errors() const { return errors_; }

 private:
  Status append(const std::vector<std::pair<std::int64_t, Tokens>>& more) {
    std::vector<SequenceTokens> pieces;
    for (const auto& [sequence, tokens] : more) pieces.push_back({sequence, tokens});
    return repeat([&]() -> Status {
      SHUNT_TRY(session_.append_each(pieces));
      return ok();
    });
  }

  /// One allocation fails, so the second attempt works.
  template <class Call>
  Status repeat(const Call& call) {
    const auto read = [&] {
      std::vector<Tokens> all;
      for (std::int64_t i = 0; i < session_.sequences(); ++i)
        all.emplace_back(session_.tokens(i).begin(), session_.tokens(i).end());
      return all;
    };
    const std::vector<Tokens> before = read();
    const Status first = failing_([&]() -> Status { return call(); });
    if (first) return first;
    ++errors_;
    if (first.error().code() != ErrorCode::kOutOfMemory) return first;
    EXPECT_EQ(read(), before) << first.error().message();
    return call();
  }

  Session& session_;
  std::string saved_;
  Failing& failing_;
  int errors_ = 0;
};

TEST_P(EngineAllocations, OfUsingASessionFailOnce) {
  const std::string saved = folder_.file("saved");
  std::int64_t errors = 0;
  each_allocation_fails(GetParam().stride(5), 300, [&](Failing& failing) {
    const auto session = *Session::create(model_, session_options());
    Calls calls(*session, saved, failing);
    const Status done = calls.all();
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_LE(calls.errors(), 1);
    errors += calls.errors();
    for (std::int64_t i = 0; i < session->sequences(); ++i) {
      const Tokens more = {static_cast<std::int32_t>(i)};
      const SequenceTokens piece = {i, more};
      const auto logits = session->append_each({&piece, 1});
      ASSERT_TRUE(logits) << logits.error().message();
      EXPECT_EQ(Logits(logits->begin(), logits->end()), alone(session->tokens(i))) << i;
    }
    for (std::int64_t i = 0; i < session->sequences(); ++i) ASSERT_TRUE(session->truncate(0, i));
    EXPECT_EQ(session->taken(), 0);
    EXPECT_EQ(folder_.list(), (std::vector<std::string>{"model.gguf", "saved"}));
  });
  EXPECT_GT(errors, 50 / kSlower);
}

/// Requests of which some pause, and one is cancelled.
TEST_P(EngineAllocations, OfABatcherFailOnce) {
  struct Request {
    std::unique_ptr<BatchStream> stream = {};
    Tokens prompt = {};
    Tokens picked = {};
    std::optional<BatchResult> end = {};
  };
  BatcherOptions options;
  options.session = session_options();
  options.session.threads = 1;
  options.own_thread = false;
  options.unread_events = 8;
  double now = 0;
  options.clock = [&now] { return now += 0.001; };
  std::map<Tokens, Tokens> known;
  const auto expected = [&](const Tokens& prompt, std::size_t count) {
    Tokens& all = known[prompt];
    while (all.size() < count) {
      Tokens text = prompt;
      text.insert(text.end(), all.begin(), all.end());
      const Logits logits = alone(text);
      all.push_back(static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
    }
    return Tokens(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  };
  std::int64_t failed = 0, whole = 0, pauses = 0;
  each_allocation_fails(GetParam().stride(17), 300, [&](Failing& failing) {
    const auto batcher = *Batcher::create(model_, options);
    std::vector<Request> requests(6);
    const auto submit = [&](std::size_t i, Failing& fails) -> Status {
      BatchRequest request;
      request.tokens = requests[i].prompt;
      request.max_tokens = 20;
      request.ignore_end = true;
      request.sampling.temperature = 0;
      request.scope = "a user with a name that is longer than a short string";
      request.priority = i == 3 ? 1 : 0;
      request.alternatives = 2;
      auto stream = fails([&] { return batcher->submit(std::move(request)); });
      if (!stream) return std::move(stream.error());
      requests[i].stream = std::move(*stream);
      return ok();
    };
    const auto read = [&](Request& request) {
      while (const auto event = request.stream->poll()) {
        EXPECT_FALSE(request.end);
        if (event->end) {
          request.end = event->end;
        } else {
          request.picked.push_back(event->token);
        }
      }
    };
    for (std::size_t i = 0; i < requests.size(); ++i)
      requests[i].prompt = some_tokens(90 + 10 * i, static_cast<std::uint32_t>(i / 2));
    Failing never(0);
    for (std::size_t i = 0; i + 1 < requests.size(); ++i) {
      const Status submitted = submit(i, failing);
      if (submitted) continue;
      expect_out_of_memory(submitted.error());
      ASSERT_TRUE(submit(i, never));
    }
    const auto all_ended = [&] {
      return std::ranges::all_of(std::span(requests).first(5),
                                 [](const Request& request) { return request.end.has_value(); });
    };
    for (int step = 0; !all_ended(); ++step) {
      ASSERT_LT(step, 1000) << "a request never ends";
      failing([&] { return batcher->step(); });
      if (step == 4) requests[1].stream->cancel();
      for (std::size_t i = 0; i < 5; ++i) {
        if (i != 2 || step % 16 == 15) read(requests[i]);  // the reader of one is slow
      }
    }
    ASSERT_TRUE(submit(5, never));
    while (batcher->step()) read(requests[5]);
    read(requests[5]);
    for (const Request& request : requests) {
      ASSERT_TRUE(request.end);
      EXPECT_EQ(request.end->picked_tokens, std::ssize(request.picked));
      EXPECT_EQ(request.picked, expected(request.prompt, request.picked.size()));
      pauses += request.end->pauses;
      if (request.end->reason == BatchEnd::kFailed) {
        ASSERT_TRUE(request.end->error);
        expect_out_of_memory(*request.end->error);
        ++failed;
      } else if (request.end->reason == BatchEnd::kLength) {
        EXPECT_EQ(request.picked.size(), 20U);
        ++whole;
      } else {
        EXPECT_EQ(&request, &requests[1]);
        EXPECT_EQ(request.end->reason, BatchEnd::kCancelled);
      }
    }
    EXPECT_EQ(requests[5].end->reason, BatchEnd::kLength);
    const BatcherStatistics statistics = batcher->statistics();
    EXPECT_EQ(statistics.taken, 0);
    EXPECT_EQ(statistics.running, 0);
    EXPECT_EQ(statistics.waiting, 0);
  });
  EXPECT_GT(failed, 100 / kSlower);
  EXPECT_GT(whole, 100 / kSlower);
  EXPECT_GT(pauses, 100 / kSlower);
}

/// A prompt comes back from host memory, while allocations of the batcher fail.
TEST_P(EngineAllocationsOfAHostCache, NeverChangeTheText) {
  TestDevice device(TestDeviceConfig{});
  const std::vector<Device*> devices = {&device, registry_->devices().back()};
  BatcherOptions options;
  options.session.context = 5 * 64;
  options.session.sequences = 1;
  options.session.cache_type = DType::kF32;
  options.session.host_cache_bytes = 1 << 20;
  options.own_thread = false;
  LoadOptions load;
  load.architectures = test_architectures();
  load.placement.rules_only = true;
  load.session = Batcher::session_options(options.session);
  const auto model = *Model::load(path_, devices, load);
  std::int64_t failed = 0, restored = 0;
  Tokens expected;
  const auto work = [&](Failing& failing) {
    const auto batcher = *Batcher::create(model, options);
    Failing never(0);
    for (const auto& [number, is_last] :
         {std::pair(1U, false), std::pair(2U, false), std::pair(3U, false), std::pair(1U, true)}) {
      BatchRequest request = {.tokens = some_tokens(200, number), .max_tokens = 6};
      request.ignore_end = true;
      request.sampling.temperature = 0;
      const auto stream = *batcher->submit(std::move(request));
      while ((is_last ? failing : never)([&] { return batcher->step(); })) {
      }
      Tokens picked;
      std::optional<BatchResult> end;
      while (const auto event = stream->poll()) {
        if (event->end) {
          end = event->end;
        } else {
          picked.push_back(event->token);
        }
      }
      ASSERT_TRUE(end);
      if (!is_last) {
        if (number == 1) expected = picked;
        continue;
      }
      restored += batcher->statistics().host_cache.restored;
      failed += end->reason == BatchEnd::kFailed ? 1 : 0;
      ASSERT_EQ(expected.size(), 6U);
      EXPECT_TRUE(std::ranges::equal(picked, std::span(expected).first(picked.size())));
      EXPECT_TRUE(end->reason == BatchEnd::kFailed || picked.size() == 6U);
    }
  };
  // The first allocations are those of blocks that come back.
  each_allocation_fails(GetParam().stride(151), 100, work, kSlower > 1 ? 5 : GetParam().stride(2));
  EXPECT_GT(restored, 0);
  EXPECT_GT(failed, 0);
}

/// There is no memory for the list of a long prompt's blocks, for as long as it waits.
TEST_F(EngineAllocationsOfLongPrompts, ARequestWithoutMemoryEndsAlone) {
  const auto model = *Model::load(file_.path(), *registry_);
  BatcherOptions options;
  options.session.context = 310000;
  options.session.sequences = 2;
  options.own_thread = false;
  const auto batcher = *Batcher::create(model, options);
  const auto large =
      *batcher->submit({.tokens = Tokens(300000, 5), .max_tokens = 1, .ignore_end = true});
  const auto small =
      *batcher->submit({.tokens = Tokens(3, 7), .max_tokens = 1, .ignore_end = true});
  too_large = 60000;
  batcher->step();
  too_large = std::numeric_limits<std::size_t>::max();
  const auto event = large->poll();
  ASSERT_TRUE(event && event->end);
  EXPECT_EQ(event->end->reason, BatchEnd::kFailed);
  while (batcher->step()) {
  }
  const auto token = small->poll();
  ASSERT_TRUE(token);
  EXPECT_FALSE(token->end) << "a token, then the end";
}

/// The device's own memory.
TEST_P(EngineAllocations, OfADeviceFailOnce) {
  const Tokens text = some_tokens(100, 1);
  const Logits expected = alone(text);
  std::size_t n = 1;
  for (bool failed = true; failed; ++n) {
    SCOPED_TRACE(n);
    TestDevice device(TestDeviceConfig{});
    device.fail_at({.allocation = n});
    {
      std::vector<Error> errors;
      const auto repeat = [&](const auto& call) {
        auto result = call();
        if (result) return result;
        errors.push_back(result.error());
        return call();
      };
      const std::vector<Device*> devices = {&device, cpu_};
      const auto model = repeat([&] { return Model::load(path_, devices, load_options()); });
      ASSERT_TRUE(model) << model.error().message();
      BatcherOptions options;
      options.session = session_options();
      options.own_thread = false;
      const auto batcher = repeat([&] { return Batcher::create(*model, options); });
      ASSERT_TRUE(batcher) << batcher.error().message();
      for (const Error& error : errors) expect_out_of_memory(error);
      BatchRequest request;
      request.tokens = text;
      request.max_tokens = 1;
      request.sampling.temperature = 0;
      request.filter = [&](std::span<const std::int32_t>, std::span<float> logits) {
        EXPECT_LE(difference(logits, expected), 1e-4F);
      };
      const auto stream = *(*batcher)->submit(std::move(request));
      while ((*batcher)->step()) {
      }
      EXPECT_EQ(stream->poll()->token, std::ranges::max_element(expected) - expected.begin());
    }
    failed = device.has_failed();
    EXPECT_EQ(device.allocated(), 0U);
  }
  EXPECT_GT(n, 5U);
}

INSTANTIATE_TEST_SUITE_P(, EngineAllocations,
                         ::testing::Values(Param{kLlama}, Param{kWindows}, Param{kHybrid}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(DISABLED_Each, EngineAllocations,
                         ::testing::Values(Param{kLlama, Which::kEach},
                                           Param{kWindows, Which::kEach},
                                           Param{kHybrid, Which::kEach}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(, EngineAllocationsOfAHostCache,
                         ::testing::Values(Param{kLlama}, Param{kWindows}), name_of);
INSTANTIATE_TEST_SUITE_P(DISABLED_Each, EngineAllocationsOfAHostCache,
                         ::testing::Values(Param{kLlama, Which::kEach},
                                           Param{kWindows, Which::kEach}),
                         name_of);

}  // namespace
}  // namespace shunt::test::engine_allocations_test
