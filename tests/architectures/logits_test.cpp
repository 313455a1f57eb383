// Each architecture's logits are those of transformers, whatever the batch, and also where a
// device can only multiply.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/to_size.h"
#include "shunt/engine.h"
#include "support/recorded_model.h"
#include "support/session_tokens.h"
#include "support/test_device.h"

namespace shunt::test::architecture_logits_test {
namespace {

/// The largest difference that rounding to F32 explains.
float tolerance(const RecordedModel& model) {
  constexpr float kLeast = 1e-4F;
  return std::max(kLeast, 10 * model.float32_difference);
}

class ArchitectureLogits : public ::testing::TestWithParam<std::string> {
 protected:
  ArchitectureLogits() : recorded_(read_recorded(GetParam())) {
    path_ = folder_.file("model.gguf");
    write_recorded(GetParam(), path_);
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
  }

  std::unique_ptr<Session> open(SessionOptions options, std::vector<Device*> devices = {}) {
    devices.push_back(registry_->devices().back());
    LoadOptions load;
    load.session = options;
    load.placement.rules_only = true;
    const auto model = Model::load(path_, devices, load);
    EXPECT_TRUE(model) << model.error().message();
    if (!model) return nullptr;
    auto made = Session::create(*model, options);
    EXPECT_TRUE(made) << made.error().message();
    return made ? std::move(*made) : nullptr;
  }
  static SessionOptions options(std::int64_t batch, DType cache_type = DType::kF32) {
    SessionOptions options;
    options.context = 64;
    options.batch = batch;
    options.cache_type = cache_type;
    return options;
  }

  /// The logits of all tokens.
  std::vector<float> logits(const SessionOptions& options, std::vector<Device*> devices = {}) {
    const auto session = open(options, std::move(devices));
    if (session == nullptr) return {};
    std::vector<float> all;
    const Status done =
        session->append_all(recorded_.tokens, [&](std::size_t, std::span<const float> more) {
          all.insert(all.end(), more.begin(), more.end());
        });
    EXPECT_TRUE(done) << done.error().message();
    return all;
  }
  std::span<const float> recorded_of(std::size_t token) const {
    const auto size = to_size(recorded_.vocabulary);
    return std::span(recorded_.logits).subspan(token * size, size);
  }

  TempFolder folder_;
  std::string path_;
  RecordedModel recorded_;
  std::unique_ptr<Registry> registry_;
};

TEST_P(ArchitectureLogits, AreThoseOfTransformersInBatches) {
  for (const std::int64_t batch : {1, 7, 64}) {
    SCOPED_TRACE(batch);
    const auto computed = logits(options(batch));
    ASSERT_EQ(computed.size(), recorded_.logits.size());
    EXPECT_LE(difference(computed, recorded_.logits), tolerance(recorded_));
  }
}

TEST_P(ArchitectureLogits, AreTheSameWithADeviceThatOnlyMultiplies) {
  TestDevice device({.ops = {"matmul", "matmul_id"}});
  const auto computed = logits(options(64), {&device});
  EXPECT_GT(device.computed(), 0U);
  ASSERT_EQ(computed.size(), recorded_.logits.size());
  EXPECT_LE(difference(computed, recorded_.logits), tolerance(recorded_));
}

/// Three sequences at once: parts of the text, in other steps, and another text in between.
TEST_P(ArchitectureLogits, OfASequenceDoNotDependOnOthers) {
  SessionOptions all = options(16);
  all.sequences = 3;
  all.context = 3 * 64;
  const auto session = open(all);
  ASSERT_NE(session, nullptr);
  const std::span tokens(recorded_.tokens);
  Tokens other(tokens.rbegin(), tokens.rend());
  const SequenceTokens first[] = {
      {.sequence = 2, .tokens = tokens.first(9)},
      {.sequence = 0, .tokens = other},
      {.sequence = 1, .tokens = tokens.first(21)},
  };
  const auto size = to_size(recorded_.vocabulary);
  const auto begun = session->append_each(first);
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_LE(difference(begun->first(size), recorded_of(8)), tolerance(recorded_));
  EXPECT_LE(difference(begun->last(size), recorded_of(20)), tolerance(recorded_));
  const SequenceTokens second[] = {
      {.sequence = 1, .tokens = tokens.subspan(21)},
      {.sequence = 2, .tokens = tokens.subspan(9, 1)},
  };
  const auto done = session->append_each(second);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_LE(difference(done->first(size), recorded_of(39)), tolerance(recorded_));
  EXPECT_LE(difference(done->last(size), recorded_of(9)), tolerance(recorded_));
}

/// Going back, and on with other tokens and then the same again.
TEST_P(ArchitectureLogits, AreTheSameAfterGoingBack) {
  const auto session = open(options(16));
  ASSERT_NE(session, nullptr);
  const std::span tokens(recorded_.tokens);
  ASSERT_TRUE(session->append(tokens.first(30)));
  ASSERT_TRUE(session->truncate(12));
  ASSERT_TRUE(session->append(tokens.first(7)));
  ASSERT_TRUE(session->truncate(12));
  const auto last = session->append(tokens.subspan(12));
  ASSERT_TRUE(last) << last.error().message();
  EXPECT_LE(difference(*last, recorded_of(39)), tolerance(recorded_));
}

INSTANTIATE_TEST_SUITE_P(Models, ArchitectureLogits, ::testing::ValuesIn(recorded_models()),
                         recorded_name);

}  // namespace
}  // namespace shunt::test::architecture_logits_test
