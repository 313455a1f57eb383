// Logits of a real model, held against an independent implementation's; and that nothing but the
// tokens decides them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "shunt/engine.h"
#include "support/shared.h"

namespace shunt::test {
namespace {

const std::vector<std::int32_t> kOnceUponATime = {1, 403, 407, 261, 378};

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

TEST(EngineLogits, AgreeWithAnIndependentImplementation) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const auto registry = registry_with(2);
  const auto session = session_of(shared_path("data/models/stories260K.gguf"), *registry,
                                  {.cache_type = DType::kF32});
  const std::vector<float> logits = logits_of(*session, kOnceUponATime);
  std::ifstream file(shared_path("data/models/stories260K.logits.txt"));
  std::string line;
  std::size_t compared = 0;
  double largest = 0;
  while (std::getline(file, line)) {
    std::istringstream text(line);
    std::size_t token = 0;
    double expected = 0;
    if (line.starts_with("#") || !(text >> token >> expected)) continue;
    ASSERT_LT(token, logits.size());
    largest = std::max(largest, std::abs(logits[token] - expected));
    ++compared;
  }
  EXPECT_EQ(compared, 512U);
  EXPECT_LT(largest, 1e-4);
}

/// A longer text, from the model's own greedy continuation.
std::vector<std::int32_t> long_prompt() {
  std::ifstream file(shared_path("data/models/stories260K.greedy.ids"));
  std::vector<std::int32_t> tokens;
  for (std::int32_t token; file >> token;) tokens.push_back(token);
  return tokens;
}

TEST(EngineLogits, AreBitEqualForAnyNumberOfThreads) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  std::vector<float> first;
  for (int threads : {1, 2, 4}) {
    const auto registry = registry_with(threads);
    const auto session = session_of(shared_path("data/models/stories260K.gguf"), *registry,
                                    {.cache_type = DType::kF32});
    std::vector<float> logits = logits_of(*session, long_prompt());
    const std::int32_t next = 5;
    const std::vector<float> more = logits_of(*session, {&next, 1});
    logits.insert(logits.end(), more.begin(), more.end());
    if (first.empty()) first = logits;
    EXPECT_TRUE(bit_equal(first, logits)) << threads << " threads";
  }
}

TEST(EngineLogits, AreBitEqualInTheHundredthRunOfAPlan) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const auto registry = registry_with(2);
  const auto session = session_of(shared_path("data/models/stories260K.gguf"), *registry,
                                  {.cache_type = DType::kF32});
  const std::vector<float> first = logits_of(*session, kOnceUponATime);
  for (int run = 1; run < 100; ++run) {
    ASSERT_TRUE(session->truncate(0));
    const std::vector<float> again = logits_of(*session, kOnceUponATime);
    ASSERT_TRUE(bit_equal(first, again)) << "run " << run;
  }
}

TEST(EngineLogits, AgreeForAnyBatchSizeOfThePrompt) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const auto registry = registry_with(2);
  std::vector<float> first;
  for (std::int64_t batch : {512, 1, 2, 3, 7, 32, 64, 68}) {
    const auto session = session_of(shared_path("data/models/stories260K.gguf"), *registry,
                                    {.cache_type = DType::kF32, .batch = batch});
    const std::vector<float> logits = logits_of(*session, long_prompt());
    if (first.empty()) first = logits;
    double largest = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(first[i]) - logits[i]));
    }
    EXPECT_LT(largest, 1e-4) << "batches of " << batch;
  }
}

TEST(EngineLogits, OfEveryTokenAreThoseOfEachPrefix) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const auto registry = registry_with(2);
  const auto path = shared_path("data/models/stories260K.gguf");
  const auto session = session_of(path, *registry, {.cache_type = DType::kF32, .batch = 2});
  std::vector<float> all;
  const Status status =
      session->append_all(kOnceUponATime, [&](std::size_t first, std::span<const float> logits) {
        EXPECT_EQ(all.size(), first * 512);
        all.insert(all.end(), logits.begin(), logits.end());
      });
  ASSERT_TRUE(status);
  ASSERT_EQ(all.size(), 5U * 512);
  for (std::size_t length = 1; length <= 5; ++length) {
    const auto prefix = session_of(path, *registry, {.cache_type = DType::kF32});
    const auto logits = logits_of(*prefix, std::span(kOnceUponATime).first(length));
    for (std::size_t i = 0; i < 512; ++i) EXPECT_NEAR(all[(length - 1) * 512 + i], logits[i], 1e-4);
  }
}

}  // namespace
}  // namespace shunt::test
