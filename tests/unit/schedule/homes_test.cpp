// The host's ends of copies: inputs, results of the CPU that a device reads, and results that the
// host reads are in memory of that device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/reference.h"
#include "schedule/memory/homes.h"
#include "schedule/plan/predict.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/graph_run.h"
#include "support/remote_device.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::schedule_homes_test {
namespace {

constexpr std::int64_t kElements = 16;
constexpr std::size_t kBytes = kElements * sizeof(float);

/// y = relu(scale(silu(x))): silu and relu on the CPU, scale on a device between them.
class Homes : public ::testing::Test {
 protected:
  Homes() {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {kElements}));
    const auto first = silu(g, x);
    const auto second = scale(g, first, {.scale = 0.5F});
    EXPECT_TRUE(g.output(relu(g, second), "y") && g.output(second, "z"));
    first_ = first->id;
    second_ = second->id;
    graph_ = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    leaves_[0] = make_values({.sizes = {kElements, 1, 1, 1}}, 1);
  }

  /// Runs it on a device and the CPU, and compares both outputs with the reference.
  void run_on(TestDevice& device, int steps_in_flight = 1) {
    Device* devices[] = {&device, &host_};
    auto run = GraphRun::create(graph_, devices, leaves_,
                                {.steps_in_flight = steps_in_flight, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    std::vector<RefTensor> by_node(graph_->size());
    by_node[0] = leaves_[0];
    const auto expected = reference_run(*graph_, by_node);
    ASSERT_TRUE(expected);
    for (const NodeId output : graph_->outputs()) {
      EXPECT_LT(nmse(*(*run)->output(output), (*expected)[output]), 1e-12);
    }
    uses_.assign((*run)->plan().memory().begin(), (*run)->plan().memory().end());
    const auto predicted =
        predict_memory(graph_, (*run)->plan().placement(), {.steps_in_flight = steps_in_flight});
    ASSERT_TRUE(predicted) << predicted.error().message();
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      EXPECT_EQ((*predicted)[i].activations, uses_[i].activations) << i;
      EXPECT_EQ((*predicted)[i].inputs, uses_[i].inputs) << i;
      EXPECT_EQ((*predicted)[i].staging, uses_[i].staging) << i;
      EXPECT_EQ((*predicted)[i].pinned, uses_[i].pinned) << i;
    }
  }

  std::shared_ptr<const Graph> graph_;
  NodeId first_ = 0;
  NodeId second_ = 0;
  std::map<NodeId, RefTensor> leaves_;
  std::vector<MemoryUse> uses_;
  TestDevice host_{{.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true}};
};

TEST_F(Homes, CopiesOfADeviceWithStagingMemoryUseIt) {
  for (const int steps : {1, 3}) {
    TestDevice device({.name = "a0", .ops = {"scale"}, .pins_memory = true});
    run_on(device, steps);
    EXPECT_EQ(device.received(), kBytes);
    EXPECT_EQ(device.sent(), kBytes);
    EXPECT_EQ(device.moved_through_pinned(), 2 * kBytes);
    // Its input is dead when z comes back. Steps in flight have copies for the host of their
    // own.
    EXPECT_EQ(uses_[0].staging, (steps == 1 ? 1 : 1 + 3) * kBytes);
    EXPECT_EQ(uses_[0].pinned, uses_[0].staging);
    EXPECT_EQ(uses_[1].staging, 0U);
  }
}

TEST_F(Homes, CopiesOfADeviceWithoutStagingMemoryUseCpuMemory) {
  TestDevice device({.name = "a0", .ops = {"scale"}});
  run_on(device);
  EXPECT_EQ(device.received() + device.sent(), 2 * kBytes);
  EXPECT_EQ(uses_[0].staging + uses_[0].pinned, 0U);
  EXPECT_EQ(uses_[1].activations, 2 * kBytes);  // silu(x), whose memory y gets, and the copy of z
}

TEST_F(Homes, MemoryOfADeviceThatTheHostCanAccessNeedsNoCopy) {
  TestDevice device(
      {.name = "a0", .ops = {"scale"}, .host_accessible = true, .reads_host_memory = false});
  run_on(device);
  EXPECT_EQ(device.received() + device.sent(), 0U);
  EXPECT_EQ(device.allocated(), 0U);  // all of it is gone with the plan
  EXPECT_GT(uses_[0].activations, 0U);
  EXPECT_EQ(uses_[0].staging + uses_[0].pinned, 0U);
}

TEST_F(Homes, InputIsInStagingMemoryOfTheFirstDeviceThatCopiesIt) {
  TestDevice device({.name = "a0", .ops = {"silu", "scale"}, .pins_memory = true});
  run_on(device);
  EXPECT_EQ(uses_[0].inputs, kBytes);
  EXPECT_EQ(uses_[1].inputs, 0U);
  EXPECT_EQ(device.moved_through_pinned(), device.received() + device.sent());
}

TEST_F(Homes, UseCpuMemoryIfStagingMemoryIsTooSmallOrMisaligned) {
  for (const bool small : {false, true}) {
    TestDevice inner({.host_accessible = true, .alignment = small ? 64U : 32U});
    RemoteDevice device(
        inner,
        {.name = "a0", .ops = {"scale"}, .pinned = {{.max_buffer = small ? kBytes - 1 : kBytes}}});
    Device* devices[] = {&device, &host_};
    const auto placement = place_by_ability(*graph_, devices);
    ASSERT_TRUE(placement);
    const std::vector<Home> homes = find_homes(*graph_, *placement);
    EXPECT_EQ(homes[first_].type, &host_.memory());
    EXPECT_EQ(homes[first_].device, 1);
    EXPECT_EQ(homes[second_].type, &device.memory());
    EXPECT_EQ(homes[second_].device, 0);
  }
  TestDevice fits({.name = "a0", .ops = {"scale"}, .max_buffer = kBytes, .pins_memory = true});
  Device* devices[] = {&fits, &host_};
  const auto placement = place_by_ability(*graph_, devices);
  ASSERT_TRUE(placement);
  EXPECT_EQ(find_homes(*graph_, *placement)[first_].type, fits.staging_memory());
}

TEST_F(Homes, SharedStagingMemoryIsCountedForTheDeviceThatUsesIt) {
  TestDevice a({.name = "a0", .ops = {"silu", "relu"}, .pins_memory = true});
  TestDevice b({.name = "b0", .ops = {"scale"}, .pins_with = &a});
  Device* devices[] = {&a, &b, &host_};
  const auto placement = place_by_ability(*graph_, devices);
  ASSERT_TRUE(placement);
  const auto memory = predict_memory(graph_, *placement, {.steps_in_flight = 1});
  ASSERT_TRUE(memory) << memory.error().message();
  // silu(x) crosses to b0, and the scaled result crosses back. Each device has an output on the
  // host.
  EXPECT_EQ((*memory)[0].staging, 2 * kBytes);
  EXPECT_EQ((*memory)[1].staging, 2 * kBytes);
}

}  // namespace
}  // namespace shunt::test::schedule_homes_test
