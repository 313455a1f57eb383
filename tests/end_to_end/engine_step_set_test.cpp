// Graphs and placements are made once for a load and its sessions.
#include "engine/load/step_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "engine/load/session_steps.h"
#include "engine/model_state.h"
#include "shunt/engine.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_step_set_test {
namespace {

class StepSets : public ::testing::Test {
 protected:
  StepSets() {
    auto registry = Registry::create({});
    EXPECT_TRUE(registry);
    registry_ = std::move(*registry);
    cpu_ = registry_->devices().back();
  }
  std::shared_ptr<const Model> load(std::span<Device* const> devices) {
    LoadOptions options;
    options.session = {.context = 64, .batch = 16};
    auto model = Model::load(file_.path(), devices, options);
    EXPECT_TRUE(model) << model.error().message();
    return model ? *model : nullptr;
  }

  SynthModel file_{{.layers = 2, .width = 64, .feed_forward = 192, .vocabulary = 300}};
  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
};

/// Graphs of prefill and decode; for each a placement by the rules and one at the homes of weights.
TEST_F(StepSets, LoadAndSessionMakeTwoGraphsAndFourPlacements) {
  const std::vector<Device*> devices = {cpu_};
  const auto model = load(devices);
  ASSERT_NE(model, nullptr);
  const auto session = Session::create(model, {.context = 64, .batch = 16});
  ASSERT_TRUE(session) << session.error().message();
  const std::vector<std::int32_t> tokens = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE((*session)->append(tokens));
  ASSERT_TRUE((*session)->append(std::span(tokens).first(1)));
  const StepSet& steps = *model->state()->steps;
  EXPECT_GT(steps.graphs_made(), 0U);
  EXPECT_LE(steps.graphs_made(), 2U);
  EXPECT_GT(steps.placements_made(), 0U);
  EXPECT_LE(steps.placements_made(), 4U);
  // A second session of the same options needs nothing new.
  const std::size_t graphs = steps.graphs_made();
  const std::size_t placements = steps.placements_made();
  ASSERT_TRUE(Session::create(model, {.context = 64, .batch = 16}));
  EXPECT_EQ(steps.graphs_made(), graphs);
  EXPECT_EQ(steps.placements_made(), placements);
  // One of another context does.
  ASSERT_TRUE(Session::create(model, {.context = 32, .batch = 16}));
  EXPECT_GT(steps.graphs_made(), graphs);
  EXPECT_GT(steps.placements_made(), placements);
}

TEST_F(StepSets, GraphsDifferByShapeAndTypes) {
  const std::vector<Device*> devices = {cpu_};
  const auto model = load(devices);
  ASSERT_NE(model, nullptr);
  StepSet steps;
  const auto definition = model->state()->definition;
  const StepShape one = {1, 1, 64, DType::kF16};
  const auto first = steps.graph(definition, one);
  ASSERT_TRUE(first);
  EXPECT_EQ(*steps.graph(definition, one), *first);
  for (const StepShape& other :
       {StepShape{2, 1, 64, DType::kF16}, StepShape{2, 2, 64, DType::kF16},
        StepShape{1, 1, 65, DType::kF16}, StepShape{1, 1, 64, DType::kF32}}) {
    const std::size_t before = steps.graphs_made();
    EXPECT_NE(*steps.graph(definition, other), *first);
    EXPECT_EQ(steps.graphs_made(), before + 1);
  }
  EXPECT_EQ(*steps.with_types(*first, {}), *first);
  NodeId weight = 0;
  for (const WeightLeaf& leaf : (*first)->weights) {
    if ((*first)->graph.node(leaf.leaf).result.size(1) > 1) weight = leaf.leaf;
  }
  const LeafType f16[] = {{weight, DType::kF16}};
  const LeafType bf16[] = {{weight, DType::kBF16}};
  const auto typed = steps.with_types(*first, f16);
  ASSERT_TRUE(typed) << typed.error().message();
  EXPECT_EQ((*typed)->graph.node(weight).result.dtype, DType::kF16);
  EXPECT_EQ((*first)->graph.node(weight).result.dtype, DType::kF32);
  EXPECT_EQ(*steps.with_types(*first, f16), *typed);
  EXPECT_NE(*steps.with_types(*first, bf16), *typed);
}

TEST_F(StepSets, PlacementsDifferByEachPartOfTheKey) {
  const std::vector<Device*> devices = {cpu_};
  const auto model = load(devices);
  ASSERT_NE(model, nullptr);
  TestDevice device({.name = "test0"});
  StepSet steps;
  const auto step = steps.graph(model->state()->definition, {1, 1, 64, DType::kF16});
  const auto other_step = steps.graph(model->state()->definition, {2, 1, 64, DType::kF16});
  ASSERT_TRUE(step && other_step);
  PlacementKey base;
  base.graph = graph_of(*step);
  base.devices = {cpu_};
  int calls = 0;
  const auto place = [&](const PlacementKey& key) {
    const auto placed = steps.placement(key, [&]() -> Result<Placement> {
      ++calls;
      return Placement();
    });
    EXPECT_TRUE(placed);
  };
  const std::vector<std::function<void(PlacementKey&)>> changes = {
      [&](PlacementKey& key) { key.graph = graph_of(*other_step); },
      [&](PlacementKey& key) {
        key.devices = {&device, cpu_};
      },
      [&](PlacementKey& key) {
        key.memory = {{0, &cpu_->memory()}};
      },
      [&](PlacementKey& key) { key.stream_bytes = {5}; },
      [&](PlacementKey& key) {
        key.parts = {{0, cpu_}};
      },
      [&](PlacementKey& key) {
        key.policy.pins = {{"a", "cpu0", {}}};
      },
      [&](PlacementKey& key) { key.policy.costs = std::make_shared<const CostModel>(); },
      [&](PlacementKey& key) { key.policy.transcode = Transcode::kLossy; },
      [&](PlacementKey& key) { key.policy.rules_only = true; },
      [&](PlacementKey& key) { key.policy.stream_rows = 7; },
  };
  for (const auto& change : changes) {
    place(base);
    const int before = calls;
    place(base);
    EXPECT_EQ(calls, before);
    PlacementKey key = base;
    change(key);
    place(key);
    EXPECT_EQ(calls, before + 1);
  }
}

/// A model with other options shares the set, but not the placements.
TEST_F(StepSets, OptionsOfAModelArePartOfTheKey) {
  const std::vector<Device*> devices = {cpu_};
  const auto model = load(devices);
  ASSERT_NE(model, nullptr);
  const auto state = model->state();
  const auto step = state->build({1, 1, 64, DType::kF16});
  ASSERT_TRUE(step);
  ASSERT_TRUE(state->place_freely(*step));
  const std::vector<std::function<void(ModelState&)>> changes = {
      [](ModelState& other) {
        other.placement.pins = {{"blk.*weight", "cpu0", {}}};
      },
      [](ModelState& other) { other.placement.costs = std::make_shared<const CostModel>(); },
      [](ModelState& other) { other.placement.transcode = Transcode::kLossy; },
      [](ModelState& other) { other.placement.rules_only = !other.placement.rules_only; },
      [](ModelState& other) { other.placement.stream_rows += 1; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    ModelState other(*state);
    changes[i](other);
    const std::size_t before = state->steps->placements_made();
    ASSERT_TRUE(other.place_freely(*step)) << i;
    EXPECT_EQ(state->steps->placements_made(), before + 1) << i;
    ASSERT_TRUE(other.place_freely(*step)) << i;
    EXPECT_EQ(state->steps->placements_made(), before + 1) << i;
  }
  const std::size_t before = state->steps->placements_made();
  const std::uint64_t bytes[] = {7};
  ASSERT_TRUE(state->place_step(*step, state->memory_of(**step), state->devices, bytes));
  ASSERT_TRUE(state->place_step(*step, state->memory_of(**step), state->devices));
  EXPECT_EQ(state->steps->placements_made(), before + 2);
}

TEST_F(StepSets, ErrorsAreNotCached) {
  const std::vector<Device*> devices = {cpu_};
  const auto model = load(devices);
  ASSERT_NE(model, nullptr);
  StepSet steps;
  const auto step = steps.graph(model->state()->definition, {1, 1, 64, DType::kF16});
  ASSERT_TRUE(step);
  PlacementKey key;
  key.graph = graph_of(*step);
  EXPECT_FALSE(steps.placement(
      key, []() -> Result<Placement> { return Error(ErrorCode::kDevice, "not now"); }));
  EXPECT_EQ(steps.placements_made(), 0U);
  EXPECT_TRUE(steps.placement(key, []() -> Result<Placement> { return Placement(); }));
  EXPECT_EQ(steps.placements_made(), 1U);
}

TEST_F(StepSets, ThreadsGetTheSameGraphs) {
  const std::vector<Device*> devices = {cpu_};
  const auto model = load(devices);
  ASSERT_NE(model, nullptr);
  const auto state = model->state();
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::int64_t tokens = 1; tokens < 30; ++tokens) {
        const auto step = state->build({tokens % 11 + 1, 1, 64, DType::kF16});
        if (!step || (*step)->token_count.max != tokens % 11 + 1) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace shunt::test::engine_step_set_test
