// One model used from many threads at once, and generation that another thread stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "shunt/engine.h"
#include "shunt/importance.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_threads_test {
namespace {

struct Loaded {
  std::unique_ptr<Registry> registry;
  std::shared_ptr<const Model> model;
};

Loaded load(const SynthModel& file) {
  Options options;
  options.threads = 2;
  Loaded loaded;
  loaded.registry = std::move(*Registry::create(options));
  loaded.model = *Model::load(file.path(), *loaded.registry);
  return loaded;
}

std::vector<std::int32_t> generate_some(const std::shared_ptr<const Model>& model,
                                        const std::string& text) {
  const auto session = Session::create(model, {.context = 64});
  const auto prompt = model->tokenizer().encode(text);
  const auto result =
      generate(**session, *prompt,
               {.max_tokens = 10, .sampling = {.temperature = 0}, .ignore_end = true}, {});
  EXPECT_TRUE(result);
  return result ? result->tokens : std::vector<std::int32_t>();
}

TEST(EngineThreads, SessionsOfOneModelRunConcurrently) {
  const SynthModel file;
  const Loaded loaded = load(file);
  const std::vector<std::string> texts = {"one", "another text", "a third"};
  std::vector<std::vector<std::int32_t>> alone, together(texts.size());
  for (const std::string& text : texts) alone.push_back(generate_some(loaded.model, text));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    threads.emplace_back([&, i] { together[i] = generate_some(loaded.model, texts[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(alone, together);
}

TEST(EngineThreads, CountOfASessionReachesEveryDevice) {
  const SynthModel file;
  TestDevice device({});
  const Loaded loaded = load(file);
  const std::vector<Device*> devices = {&device, loaded.registry->devices().back()};
  LoadOptions options;
  options.memory_margin = 0;
  const auto model = Model::load(file.path(), devices, options);
  ASSERT_TRUE(model) << model.error().message();
  for (const int threads : {1, 2, 0}) {
    const auto session = Session::create(*model, {.context = 64, .threads = threads});
    ASSERT_TRUE(session) << session.error().message();
    const std::size_t before = device.computed();
    for (const std::vector<std::int32_t>& tokens : {std::vector{1, 2, 3}, std::vector{4}}) {
      ASSERT_TRUE((*session)->append(tokens));
      EXPECT_EQ(device.threads(), threads) << tokens.size() << " tokens";
    }
    EXPECT_GT(device.computed(), before);
  }
}

TEST(EngineThreads, CountOfASessionLimitsAnImportanceMatrix) {
  const SynthModel file;
  TestDevice device({});
  const Loaded loaded = load(file);
  const std::vector<Device*> devices = {&device, loaded.registry->devices().back()};
  LoadOptions load_options;
  load_options.memory_margin = 0;
  const auto model = Model::load(file.path(), devices, load_options);
  ASSERT_TRUE(model) << model.error().message();
  const std::vector<std::int32_t> tokens(16, 1);
  ImportanceOptions options;
  options.session.context = 16;
  options.session.threads = 2;
  const auto matrix = gather_importance(**model, tokens, options);
  ASSERT_TRUE(matrix) << matrix.error().message();
  EXPECT_EQ(device.threads(), 2);
  options.session.threads = -1;
  const auto refused = gather_importance(**model, tokens, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("-1 threads"));
}

TEST(EngineCancel, AnotherThreadStopsGeneration) {
  const SynthModel file;
  const Loaded loaded = load(file);
  const auto session = Session::create(loaded.model, {.context = 2048});
  ASSERT_TRUE(session);
  std::atomic<bool> cancel{false};
  std::atomic<int> pieces{0};
  std::thread other([&] {
    while (pieces.load() < 3) std::this_thread::yield();
    cancel.store(true);
  });
  const auto prompt = loaded.model->tokenizer().encode("on and on");
  GenerateOptions options;
  options.max_tokens = 2000;
  options.ignore_end = true;
  options.cancel = &cancel;
  const auto result = generate(**session, *prompt, options, [&](std::string_view) { ++pieces; });
  pieces.store(3);
  other.join();
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->stop, StopReason::kCancelled);
}

TEST(EngineCancel, BeforeThePromptComputesNothing) {
  const SynthModel file;
  const Loaded loaded = load(file);
  const auto session = Session::create(loaded.model, {.context = 64});
  const std::atomic<bool> cancel{true};
  const auto prompt = loaded.model->tokenizer().encode("text");
  GenerateOptions options;
  options.cancel = &cancel;
  const auto result = generate(**session, *prompt, options, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->stop, StopReason::kCancelled);
  EXPECT_EQ((*session)->length(), 0);
}

TEST(EngineSession, RejectsTokensThatDoNotFitAndKeepsItsState) {
  const SynthModel file;
  const Loaded loaded = load(file);
  const auto session = Session::create(loaded.model, {.context = 8});
  const std::vector<std::int32_t> nine(9, 1), eight(8, 1), wild = {1, 999999}, negative = {-1};
  EXPECT_FALSE((*session)->append(nine));
  EXPECT_FALSE((*session)->append(wild));
  EXPECT_FALSE((*session)->append(negative));
  EXPECT_FALSE((*session)->append({}));
  EXPECT_EQ((*session)->length(), 0);
  EXPECT_TRUE((*session)->append(eight));
  EXPECT_FALSE((*session)->append({eight.data(), 1}));
  EXPECT_FALSE((*session)->truncate(9));
  EXPECT_FALSE((*session)->truncate(-1));
  EXPECT_TRUE((*session)->truncate(4));
  EXPECT_TRUE((*session)->append({eight.data(), 4}));
}

TEST(EngineSession, RejectsInvalidOptions) {
  const SynthModel file;
  const Loaded loaded = load(file);
  EXPECT_FALSE(Session::create(loaded.model, {.context = -1}));
  EXPECT_FALSE(Session::create(loaded.model, {.context = std::int64_t{1} << 40}));
  EXPECT_FALSE(Session::create(loaded.model, {.cache_type = DType::kI8}));
  const auto weights = Session::create(loaded.model, {.cache_type = DType::kQ4_K});
  ASSERT_FALSE(weights);
  EXPECT_THAT(weights.error().message(),
              testing::HasSubstr("type Q4_K; it may be F32, F16, BF16, Q8_0 or Q4_0"));
  EXPECT_FALSE(Session::create(loaded.model, {.batch = 0}));
  const auto threads = Session::create(loaded.model, {.threads = -1});
  ASSERT_FALSE(threads);
  EXPECT_THAT(threads.error().message(), testing::HasSubstr("-1 threads"));
}

}  // namespace
}  // namespace shunt::test::engine_threads_test
