// An executable and its parts: several runs of one, its memory before and after allocating, and
// addresses as a device sees them. Expected values are computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "schedule/plan/local_addresses.h"
#include "schedule/plan/plan_builder.h"
#include "schedule/plan/plan_run.h"
#include "shunt/ops.h"
#include "support/graph_run.h"
#include "support/test_device.h"

namespace shunt::test::schedule_compiled_plan_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// y = 2 x + x, twice x on the accelerator a0 and the sum on the CPU.
class ExecutableTest : public ::testing::TestWithParam<int> {
 protected:
  using Values = std::array<float, 2>;

  void SetUp() override {
    GraphBuilder g;
    tokens_ = *g.dynamic_dim("tokens", 2);
    x_ = *g.input("x", *make_tensor(DType::kF32, {1, tokens_}));
    y_ = *add(g, scale(g, x_, {.scale = 2}), x_);
    ASSERT_TRUE(g.output(y_, "y"));
    graph_ = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  }

  Result<PlanBuilder> laid_out(int steps_in_flight) {
    SHUNT_ASSIGN(Placement placement, place_by_ability(*graph_, devices_));
    PlanBuilder builder(graph_, std::move(placement));
    SHUNT_TRY(builder.lay_out({.steps_in_flight = steps_in_flight}));
    return builder;
  }

  Result<std::shared_ptr<const CompiledPlan>> build(int steps_in_flight) {
    SHUNT_ASSIGN(PlanBuilder builder, laid_out(steps_in_flight));
    return std::move(builder).build();
  }

  Result<std::uint64_t> start(Plan& run, const Values& x) {
    SHUNT_ASSIGN(const std::span<std::byte> bytes, run.input(x_));
    std::memcpy(bytes.data(), x.data(), sizeof(x));
    return run.start();
  }

  Values result(Plan& run) {
    Values values = {-1, -1};
    const auto bytes = run.output(y_);
    EXPECT_TRUE(bytes);
    if (bytes) std::memcpy(values.data(), bytes->data(), sizeof(values));
    return values;
  }

  std::size_t allocated() const { return accelerator_.allocated() + host_.allocated(); }

  TestWorld world_;
  TestDevice accelerator_{{.name = "a0", .ops = {"scale"}, .world = &world_}};
  TestDevice host_{{.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true}};
  std::array<Device*, 2> devices_ = {&accelerator_, &host_};
  std::shared_ptr<const Graph> graph_;
  Dim tokens_ = {};
  Value x_;
  Value y_;
};

TEST_P(ExecutableTest, IsSharedByOverlappingRuns) {
  auto executable = build(GetParam());
  ASSERT_TRUE(executable) << executable.error().message();
  auto first = PlanRun::create(*executable, {});
  auto second = PlanRun::create(*executable, {});
  ASSERT_TRUE(first && second);
  *executable = nullptr;  // the runs keep it
  for (float step = 0; step < 5; ++step) {
    const auto of_first = start(**first, {1 + step, 2});
    const auto of_second = start(**second, {100 + step, 200});
    ASSERT_TRUE(of_first && of_second);
    ASSERT_TRUE((*second)->wait(*of_second));
    ASSERT_TRUE((*first)->wait(*of_first));
    EXPECT_EQ(result(**first), (Values{3 + 3 * step, 6}));
    EXPECT_EQ(result(**second), (Values{300 + 3 * step, 600}));
  }
  first->reset();
  ASSERT_TRUE(start(**second, {7, 8}));
  ASSERT_TRUE((*second)->wait(5));
  EXPECT_EQ(result(**second), (Values{21, 24}));
}

TEST_P(ExecutableTest, EachRunHasItsOwnDynamicDimsAndStepNumbers) {
  const auto executable = build(GetParam());
  ASSERT_TRUE(executable) << executable.error().message();
  const auto first = PlanRun::create(*executable, {});
  const auto second = PlanRun::create(*executable, {});
  ASSERT_TRUE(first && second);
  ASSERT_TRUE((*first)->set_dynamic_dim(tokens_, 1));
  EXPECT_EQ((*first)->dynamic_dims()[tokens_.dynamic_dim], 1);
  EXPECT_EQ((*second)->dynamic_dims()[tokens_.dynamic_dim], 2);
  EXPECT_EQ(*start(**first, {1, 2}), 0U);
  EXPECT_EQ(*start(**second, {1, 2}), 0U);
  EXPECT_FALSE((*second)->wait(1));
  ASSERT_TRUE((*first)->wait(0));
  ASSERT_TRUE((*second)->wait(0));
  EXPECT_EQ(result(**first)[0], 3);
  EXPECT_EQ(result(**second), (Values{3, 6}));
}

TEST_P(ExecutableTest, ObservedNodesRequireAnObserver) {
  auto placement = place_by_ability(*graph_, devices_);
  ASSERT_TRUE(placement);
  PlanBuilder builder(graph_, std::move(*placement));
  const auto visit = [](const Observed&) { return true; };
  ASSERT_TRUE(builder.lay_out({.observer = {{y_.id}, visit}, .steps_in_flight = 1}));
  const auto executable = std::move(builder).build();
  ASSERT_NE(executable, nullptr);
  const auto without = PlanRun::create(executable, {});
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message(), HasSubstr("there is no observer"));
  EXPECT_TRUE(PlanRun::create(executable, {.visit = visit}));
}

TEST_P(ExecutableTest, FailureOfOneRunDoesNotAffectAnother) {
  const auto executable = build(GetParam());
  ASSERT_TRUE(executable) << executable.error().message();
  const auto first = PlanRun::create(*executable, {});
  const auto second = PlanRun::create(*executable, {});
  ASSERT_TRUE(first && second);
  accelerator_.fail_at({.launch = 1});
  const auto lost = start(**first, {1, 2});
  ASSERT_TRUE(lost);
  const Status status = (*first)->wait(*lost);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().device(), "a0");
  EXPECT_THAT(status.error().message(), HasSubstr("segment 0 on a0"));
  EXPECT_FALSE((*first)->output(y_));
  const auto other = start(**second, {3, 4});
  ASSERT_TRUE(other);
  ASSERT_TRUE((*second)->wait(*other));
  EXPECT_EQ(result(**second), (Values{9, 12}));
  const auto next = start(**first, {5, 6});
  ASSERT_TRUE(next);
  ASSERT_TRUE((*first)->wait(*next));
  EXPECT_EQ(result(**first), (Values{15, 18}));
}

TEST_P(ExecutableTest, AllocatesNothingBeforeARunIsCreated) {
  auto builder = laid_out(GetParam());
  ASSERT_TRUE(builder) << builder.error().message();
  const std::vector<MemoryUse> predicted = builder->memory();
  const auto executable = std::move(*builder).build();
  EXPECT_EQ(accelerator_.allocations() + host_.allocations(), 0U);
  // Each step has x, its copy on the accelerator, the copy of 2 x, and y for itself. Only 2 x on
  // the accelerator is shared.
  const auto steps = static_cast<std::size_t>(GetParam());
  const std::size_t bytes = 64;  // of a tensor: 8, rounded up to the alignment
  ASSERT_EQ(predicted.size(), 2U);
  EXPECT_EQ(predicted[0].device, 0);
  EXPECT_EQ(predicted[0].activations, (steps + 1) * bytes);
  EXPECT_EQ(predicted[1].device, 1);
  EXPECT_EQ(predicted[1].activations, steps * 2 * bytes);
  EXPECT_EQ(predicted[1].inputs, steps * bytes);

  const std::size_t a_run =
      predicted[0].activations + predicted[1].activations + predicted[1].inputs;
  {
    const auto first = PlanRun::create(executable, {});
    const auto second = PlanRun::create(executable, {});
    ASSERT_TRUE(first && second);
    EXPECT_EQ(allocated(), 2 * a_run);
    for (const auto* run : {&first, &second}) {
      ASSERT_EQ((**run)->memory().size(), 2U);
      EXPECT_EQ((**run)->memory()[0].activations, predicted[0].activations);
      EXPECT_EQ((**run)->memory()[1].inputs, predicted[1].inputs);
    }
  }
  EXPECT_EQ(allocated(), 0U);
}

INSTANTIATE_TEST_SUITE_P(StepsInFlight, ExecutableTest, ::testing::Values(1, 2, 4));

TEST(MemoryUse, CountsPerStepBlocksOncePerStepInFlight) {
  TestDevice first({.name = "a0"});
  TestDevice second({.name = "b0"});
  Device* devices[] = {&first, &second};
  const std::array<PlanBlock, 4> blocks = {
      PlanBlock{.bytes = 1000, .device = 0}, PlanBlock{.bytes = 100, .device = 0, .own = true},
      PlanBlock{.bytes = 10, .device = 1, .use = &MemoryUse::staging, .pinned = true, .own = true},
      PlanBlock{.bytes = 1, .device = 1, .use = &MemoryUse::inputs, .own = true}};
  const std::vector<MemoryUse> uses = memory_use(blocks, devices, 3);
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].activations, 1300U);
  EXPECT_EQ(uses[0].inputs + uses[0].staging + uses[0].pinned, 0U);
  EXPECT_EQ(uses[1].activations, 0U);
  EXPECT_EQ(uses[1].staging, 30U);
  EXPECT_EQ(uses[1].pinned, 30U);
  EXPECT_EQ(uses[1].inputs, 3U);
}

TEST(LocalAddresses, ReplacesANodeByTheCopyForThatDeviceOnly) {
  // Nodes 0 to 2 are at 100 to 102, copies 0 to 2 at 200 to 202. Segment 1 reads node 1 twice: the
  // later copy counts.
  SegmentedGraph cut;
  cut.copies = {{.node = 0, .from = 1, .to = 0},
                {.node = 1, .from = 1, .to = 0},
                {.node = 1, .from = 0, .to = 1},
                {.node = 1, .from = 1, .to = 0}};
  cut.uses = {{{0, 0}, {1, 2}}, {{1, 1}, {1, 3}}, {}};
  LocalAddresses<int> local(cut, {100, 101, 102}, {200, 201, 202, 203});
  EXPECT_THAT(local.of(0, 0), ElementsAre(200, 101, 102));
  EXPECT_THAT(local.of(0, 1), ElementsAre(100, 202, 102));
  EXPECT_THAT(local.of(1, 0), ElementsAre(100, 203, 102));
  EXPECT_THAT(local.of(1, 1), ElementsAre(100, 101, 102));
  EXPECT_THAT(local.of(1, 0), ElementsAre(100, 203, 102));
  EXPECT_THAT(local.of(2, 0), ElementsAre(100, 101, 102));
}

}  // namespace
}  // namespace shunt::test::schedule_compiled_plan_test
