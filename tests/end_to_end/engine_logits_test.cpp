// Logits of a real model, compared with those of an independent implementation; and that only the
// tokens affect them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "shunt/engine.h"
#include "support/shared.h"
#include "support/stories.h"

namespace shunt::test::engine_logits_test {
namespace {

std::unique_ptr<Registry> registry_with(int threads) {
  Options options;
  options.threads = threads;
  auto registry = Registry::create(options);
  EXPECT_TRUE(registry);
  return std::move(*registry);
}

std::unique_ptr<Session> session_of(const std::string& path, const Registry& registry,
                                    const SessionOptions& options) {
  auto model = Model::load(path, registry);
  EXPECT_TRUE(model) << model.error().message();
  auto session = Session::create(*model, options);
  EXPECT_TRUE(session) << session.error().message();
  return std::move(*session);
}

std::vector<float> logits_of(Session& session, std::span<const std::int32_t> tokens) {
  const auto logits = session.append(tokens);
  EXPECT_TRUE(logits) << (logits ? "" : logits.error().message());
  return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
}

bool bit_equal(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The largest difference of the logits behind the prompt.
double error_of(const Stories& expected, const std::string& path) {
  const auto registry = registry_with(2);
  const auto session = session_of(path, *registry, {.cache_type = DType::kF32});
  const std::vector<float> logits = logits_of(*session, expected.prompt_ids);
  EXPECT_EQ(logits.size(), expected.logits.size());
  if (logits.size() != expected.logits.size()) return HUGE_VAL;
  double largest = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    largest = std::max(largest, std::abs(logits[i] - expected.logits[i]));
  }
  return largest;
}

TEST(EngineLogitsOfStories, AgreeWithAnIndependentImplementation) {
  EXPECT_LT(error_of(stories(), F32Stories().path()), 1e-4);
}

/// The model as it ships. The other operands of its weights are rounded to 8 bits, too, the values
/// to one part in 254 of the largest of 32.
TEST(EngineLogitsOfStories, AgreeWithAnIndependentImplementationWithinInt8Error) {
  EXPECT_LT(error_of(stories(), stories().path), 0.15);
}

TEST(EngineLogitsOfStories, AgreeWithAnIndependentImplementationForStories260K) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  EXPECT_LT(error_of(stories_260k(), stories_260k().path), 1e-4);
}

/// A longer text, from the model's own greedy continuation.
std::vector<std::int32_t> long_prompt() {
  std::vector<std::int32_t> tokens = stories().prompt_ids;
  tokens.insert(tokens.end(), stories().ids.begin(), stories().ids.end());
  return tokens;
}

class EngineLogits : public testing::Test {
 protected:
  const std::string& path() const { return model_.path(); }
  const std::vector<std::int32_t>& prompt() const { return stories().prompt_ids; }

 private:
  F32Stories model_;
};

TEST_F(EngineLogits, AreBitEqualForAnyNumberOfThreads) {
  std::vector<float> first;
  for (int threads : {1, 2, 4}) {
    const auto registry = registry_with(threads);
    const auto session = session_of(path(), *registry, {.cache_type = DType::kF32});
    std::vector<float> logits = logits_of(*session, long_prompt());
    const std::int32_t next = 5;
    const std::vector<float> more = logits_of(*session, {&next, 1});
    logits.insert(logits.end(), more.begin(), more.end());
    if (first.empty()) first = logits;
    EXPECT_TRUE(bit_equal(first, logits)) << threads << " threads";
  }
}

TEST_F(EngineLogits, AreBitEqualIn100RunsOfAPlan) {
  const auto registry = registry_with(2);
  const auto session = session_of(path(), *registry, {.cache_type = DType::kF32});
  const auto few = std::span(prompt()).first(5);  // an emulator takes long
  const std::vector<float> first = logits_of(*session, few);
  for (int run = 1; run < 100; ++run) {
    ASSERT_TRUE(session->truncate(0));
    const std::vector<float> again = logits_of(*session, few);
    ASSERT_TRUE(bit_equal(first, again)) << "run " << run;
  }
}

TEST_F(EngineLogits, AgreeForAnyBatchSizeOfThePrompt) {
  const auto registry = registry_with(2);
  std::vector<float> first;
  for (std::int64_t batch : {512, 1, 2, 3, 7, 32, 64, 68}) {
    const auto session = session_of(path(), *registry, {.cache_type = DType::kF32, .batch = batch});
    const std::vector<float> logits = logits_of(*session, long_prompt());
    if (first.empty()) first = logits;
    double largest = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(first[i]) - logits[i]));
    }
    EXPECT_LT(largest, 1e-4) << "batches of " << batch;
  }
}

TEST_F(EngineLogits, OfAppendAllEqualLogitsOfEachPrefix) {
  const auto registry = registry_with(2);
  const auto session = session_of(path(), *registry, {.cache_type = DType::kF32, .batch = 2});
  const std::size_t vocabulary = stories().logits.size();
  const std::size_t count = prompt().size();
  std::vector<std::vector<float>> expected;
  for (std::size_t length = 1; length <= count; ++length) {
    const auto prefix = session_of(path(), *registry, {.cache_type = DType::kF32});
    expected.push_back(logits_of(*prefix, std::span(prompt()).first(length)));
  }
  for (const std::size_t from : {std::size_t{0}, std::size_t{1}, count - 1, count}) {
    ASSERT_TRUE(session->truncate(0));
    std::vector<float> all;
    const auto visit = [&](std::size_t first, std::span<const float> logits) {
      EXPECT_EQ(all.size(), (first - from) * vocabulary);
      all.insert(all.end(), logits.begin(), logits.end());
    };
    const auto first = static_cast<std::int64_t>(from);
    ASSERT_TRUE(session->append_all(prompt(), visit, nullptr, 0, first));
    EXPECT_EQ(session->length(), static_cast<std::int64_t>(count));
    ASSERT_EQ(all.size(), (count - from) * vocabulary);
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_NEAR(all[i], expected[from + i / vocabulary][i % vocabulary], 1e-4);
  }
  for (const std::int64_t wrong : {std::int64_t{-1}, static_cast<std::int64_t>(count) + 1}) {
    ASSERT_TRUE(session->truncate(0));
    const auto none = [](std::size_t, std::span<const float>) {};
    const Status refused = session->append_all(prompt(), none, nullptr, 0, wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace shunt::test::engine_logits_test
