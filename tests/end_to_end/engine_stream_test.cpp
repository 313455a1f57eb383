// A model of which a part does not fit on a device: weights of that part are sent there for
// prompts, and used by the CPU for single tokens. The CPU is the real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model_state.h"
#include "shunt/engine.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::int64_t kLayers = 4;
constexpr std::size_t kProducts = 7;  // of a layer: q, k, v, output, gate, up, down
// The last three of the last layer are needed for the last token only: one row.
constexpr std::size_t kOfManyRows = kLayers * kProducts - 3;

class EngineStream : public ::testing::Test {
 protected:
  EngineStream() {
    auto registry = Registry::create({});
    EXPECT_TRUE(registry);
    registry_ = std::move(*registry);
    cpu_ = registry_->devices().back();
    for (std::int32_t i = 0; i < 40; ++i) prompt_.push_back(i == 0 ? 1 : 20 + 3 * i);
  }

  static SynthOptions shape() {
    SynthOptions options;
    options.layers = kLayers;
    options.width = 64;
    options.feed_forward = 192;
    options.vocabulary = 300;
    return options;
  }
  static LoadOptions options(std::int64_t stream_rows) {
    LoadOptions options;
    options.session.context = 64;
    options.session.batch = 40;
    options.session.cache_type = DType::kF32;
    options.memory_margin = 0;
    options.stream_rows = stream_rows;
    options.rules_only = true;  // costs would leave so small a model to the CPU
    return options;
  }
  static TestDeviceConfig half_a_model() {
    return {.ops = {"matmul"}, .wants = {"matmul"}, .memory = 500000};
  }

  /// What a device computed, and got from the host, in a step.
  struct Work {
    std::size_t nodes = 0;
    std::size_t bytes = 0;
  };
  struct Outcome {
    std::int64_t layers = 0;  ///< whose weights lie on the device
    std::uint64_t rest = 0;   ///< bytes of the other layers' matrices, without the last one's
    Work prompt, few, single;
    std::vector<float> logits;  ///< after each of the three
    std::vector<std::string> notes;
  };

  Outcome run(TestDevice* device, std::int64_t stream_rows = 32) {
    Outcome outcome;
    std::vector<Device*> devices = {cpu_};
    if (device != nullptr) devices.insert(devices.begin(), device);
    const auto model = Model::load(file_.path(), devices, options(stream_rows));
    EXPECT_TRUE(model) << model.error().message();
    const auto session = Session::create(*model, options(stream_rows).session);
    EXPECT_TRUE(session) << session.error().message();
    if (!session) return outcome;
    const auto step = [&](std::span<const std::int32_t> tokens) {
      const Work before = device == nullptr ? Work() : Work{device->computed(), device->received()};
      const auto logits = (*session)->append(tokens);
      EXPECT_TRUE(logits) << logits.error().message();
      if (!logits) return Work();
      outcome.logits.insert(outcome.logits.end(), logits->begin(), logits->end());
      if (device == nullptr) return Work();
      return Work{device->computed() - before.nodes, device->received() - before.bytes};
    };
    outcome.prompt = step(prompt_);
    outcome.few = step(std::span(prompt_).subspan(1, 3));
    outcome.single = step(std::span(prompt_).subspan(4, 1));
    outcome.notes = (*model)->notes();
    if (device == nullptr) return outcome;
    std::set<std::int64_t> here;
    const auto graph = (*model)->state()->definition->build({1, 1, 1, DType::kF32});
    for (const WeightLeaf& weight : graph->weights) {
      if (weight.layer < 0 || weight.info->tensor.shape[1].max == 1) continue;
      if ((*model)->state()->homes.at(weight.info) == 0) {
        here.insert(weight.layer);
      } else if (weight.layer + 1 < kLayers) {
        outcome.rest += weight.info->bytes;
      }
    }
    outcome.layers = static_cast<std::int64_t>(here.size());
    return outcome;
  }

  SynthModel file_{shape()};
  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
  std::vector<std::int32_t> prompt_;
};

TEST_F(EngineStream, PromptsBringTheWeightsThatDoNotFitSingleTokensDoNot) {
  const Outcome alone = run(nullptr);
  TestDevice device(half_a_model());
  const Outcome got = run(&device);
  ASSERT_GT(got.layers, 0);
  ASSERT_LT(got.layers, kLayers);
  EXPECT_EQ(got.prompt.nodes, kOfManyRows);
  EXPECT_GT(got.prompt.bytes, got.rest);
  for (const Work& work : {got.few, got.single}) {
    EXPECT_EQ(work.nodes, static_cast<std::size_t>(got.layers) * kProducts);
    EXPECT_LT(work.bytes, got.rest / 10);
  }
  EXPECT_THAT(got.notes, Contains(HasSubstr("for weights that are sent there")));
  ASSERT_EQ(got.logits.size(), alone.logits.size());
  for (std::size_t i = 0; i < got.logits.size(); ++i) {
    ASSERT_NEAR(got.logits[i], alone.logits[i], 1e-3);
  }
}

TEST_F(EngineStream, NeverIfTheUserSaysSo) {
  TestDevice device(half_a_model());
  const Outcome got = run(&device, 0);
  EXPECT_EQ(got.prompt.nodes, got.single.nodes);
  EXPECT_LT(got.prompt.bytes, got.rest);
  EXPECT_THAT(got.notes, ::testing::Not(Contains(HasSubstr("sent there"))));
}

TEST_F(EngineStream, ADeviceOfAnySizeGetsWhatItHasRoomFor) {
  const Outcome alone = run(nullptr);
  std::size_t before = 0;
  for (std::size_t memory = 0; memory <= 400000; memory += 40000) {
    TestDeviceConfig config = half_a_model();
    config.memory = memory;
    TestDevice device(config);
    const Outcome got = run(&device);
    ASSERT_EQ(got.logits.size(), alone.logits.size());
    for (std::size_t i = 0; i < got.logits.size(); ++i) {
      ASSERT_NEAR(got.logits[i], alone.logits[i], 1e-3) << memory;
    }
    EXPECT_GE(got.prompt.nodes, before) << memory;
    before = got.prompt.nodes;
    EXPECT_EQ(device.allocated(), 0U);
  }
  EXPECT_GE(before, kOfManyRows);
}

}  // namespace
}  // namespace shunt::test
