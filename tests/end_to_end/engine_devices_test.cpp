// A real model on a device that came as a plugin, can only do matmul and add, and keeps its memory
// to itself.
#include <gtest/gtest.h>

#include <cmath>

#include "shunt/engine.h"
#include "support/models.h"
#include "support/stories.h"
#include "test_paths.h"

namespace shunt::test::engine_devices_test {
namespace {

struct Computed {
  std::vector<float> logits;
  std::vector<std::int32_t> tokens;
};

Computed compute(const std::string& path, const std::vector<std::int32_t>& prompt,
                 const std::vector<std::string>& devices) {
  Options options;
  options.backend_path = SHUNT_TEST_PLUGINS;
  const auto registry = Registry::create(options);
  EXPECT_TRUE(registry);
  const auto model = Model::load(path, **registry, {.devices = devices, .progress = {}});
  EXPECT_TRUE(model) << model.error().message();
  auto session = Session::create(*model, {.context = 128, .cache_type = DType::kF32});
  EXPECT_TRUE(session) << session.error().message();
  Computed computed;
  const auto logits = (*session)->append(prompt);
  EXPECT_TRUE(logits) << logits.error().message();
  computed.logits.assign(logits->begin(), logits->end());
  EXPECT_TRUE((*session)->truncate(0));
  const auto result =
      generate(**session, prompt, {.max_tokens = 12, .sampling = {.temperature = 0}}, {});
  EXPECT_TRUE(result) << result.error().message();
  computed.tokens = result->tokens;
  return computed;
}

void expect_same(const Computed& a, const Computed& b) {
  ASSERT_EQ(a.logits.size(), b.logits.size());
  for (std::size_t i = 0; i < a.logits.size(); ++i) EXPECT_NEAR(a.logits[i], b.logits[i], 1e-4);
  EXPECT_EQ(a.tokens, b.tokens);
}

TEST(EngineDevices, DefaultModelRunsOnADeviceWithFewOps) {
  const F32Stories model;
  const Computed alone = compute(model.path(), stories().prompt_ids, {"cpu0"});
  const Computed together = compute(model.path(), stories().prompt_ids, {"test0"});
  expect_same(alone, together);
  const std::vector<std::int32_t> first(stories().ids.begin(), stories().ids.begin() + 12);
  EXPECT_EQ(alone.tokens, first);
}

TEST(EngineDevices, SynthModelWithTiedOutputRunsOnADeviceWithFewOps) {
  SynthOptions options;
  options.tied = true;
  const SynthModel model(options);
  const std::vector<std::int32_t> prompt = {1, 403, 407, 261, 378};
  expect_same(compute(model.path(), prompt, {"cpu0"}), compute(model.path(), prompt, {"test0"}));
}

}  // namespace
}  // namespace shunt::test::engine_devices_test
