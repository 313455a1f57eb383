// Data that is copied between devices through the host, and the staging memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "schedule/plan/predict.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/graph_run.h"
#include "support/remote_device.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::schedule_staging_test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBytes = 64;  // of the value that crosses
constexpr int kSteps = 2;           // in flight

/// silu(x) on one device, then scale on another that pins memory.
class Staging : public ::testing::Test {
 protected:
  Staging() {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {kBytes / sizeof(float)}));
    EXPECT_TRUE(g.output(scale(g, silu(g, x), {.scale = 2}), "y"));
    graph_ = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  }

  Result<std::unique_ptr<GraphRun>> compile(Device& second) {
    Device* devices[] = {&first_, &second, &host_};
    return GraphRun::create(graph_, devices, {{0, values_}},
                            {.steps_in_flight = kSteps, .by_ability = true});
  }

  std::shared_ptr<const Graph> graph_;
  RefTensor values_ = make_values({.sizes = {kBytes / sizeof(float), 1, 1, 1}}, 1);
  TestDevice first_{{.name = "a0", .ops = {"silu"}}};
  TestDevice inner_{{.host_accessible = true}};
  TestDevice host_{{.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true}};
};

TEST_F(Staging, UsesPinnedMemoryIfItsBuffersAreLargeEnough) {
  for (const std::size_t largest : {kBytes, kBytes - 1}) {
    RemoteDevice second(inner_,
                        {.name = "b0", .ops = {"scale"}, .pinned = {{.max_buffer = largest}}});
    const auto run = compile(second);
    ASSERT_TRUE(run) << run.error().message();
    const bool fits = largest == kBytes;
    // For each step, room for the value that it gets and for the value that it gives the host.
    EXPECT_EQ(second.staging_memory()->allocations, fits ? 2 * kSteps : 0U);
    EXPECT_EQ(second.staging_memory()->largest, fits ? kBytes : 0U);
    const auto predicted =
        predict_memory(graph_, (*run)->plan().placement(), {.steps_in_flight = kSteps});
    ASSERT_TRUE(predicted);
    for (const auto uses : {(*run)->plan().memory(), std::span<const MemoryUse>(*predicted)}) {
      EXPECT_EQ(uses[1].staging, fits ? 2 * kSteps * kBytes : 0U);
      EXPECT_EQ(uses[2].staging, fits ? 0U : kSteps * kBytes);
    }
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    const auto y = (*run)->output(graph_->outputs()[0]);
    ASSERT_TRUE(y);
    for (std::size_t i = 0; i < values_.data.size(); ++i) {
      const double x = values_.data[i];
      EXPECT_NEAR(y->data[i], 2 * x / (1 + std::exp(-x)), 1e-6);
    }
  }
}

TEST_F(Staging, HoldsTheLargestCopy) {
  // The sizes of the values that cross from a0 to b0, in order.
  for (const auto& sizes : {std::array<std::int64_t, 2>{16, 4096}, {4096, 16}}) {
    GraphBuilder g;
    std::map<NodeId, RefTensor> values;
    std::vector<Value> crosses;
    for (const std::int64_t size : sizes) {
      const auto x = g.input("x", *make_tensor(DType::kF32, {size}));
      values[x->id] = make_values({.sizes = {size, 1, 1, 1}}, 1);
      crosses.push_back(*silu(g, x));
    }
    for (const Value& value : crosses) ASSERT_TRUE(g.output(scale(g, value, {.scale = 2}), "y"));
    const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    TestDevice second({.name = "b0", .ops = {"scale"}});
    Device* devices[] = {&first_, &second, &host_};
    auto run =
        GraphRun::create(graph, devices, values, {.steps_in_flight = kSteps, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ((*run)->plan().memory()[2].staging, kSteps * 4096 * sizeof(float));
    ASSERT_TRUE((*run)->plan().run());
    std::size_t output = 0;
    for (const auto& [leaf, x] : values) {
      const auto y = (*run)->output(graph->outputs()[output++]);
      ASSERT_TRUE(y);
      for (std::size_t i = 0; i < x.data.size(); ++i) {
        ASSERT_NEAR(y->data[i], 2 * x.data[i] / (1 + std::exp(-x.data[i])), 1e-6) << i;
      }
    }
  }
}

TEST_F(Staging, FailedAllocationNamesTheDevice) {
  // It has large buffers, but no room for the value that it gets in the first step, or in the
  // second.
  for (const std::size_t room : {kBytes - 1, 3 * kBytes - 1}) {
    RemoteDevice second(inner_, {.name = "b0", .ops = {"scale"}, .pinned = {{.memory = room}}});
    const auto run = compile(second);
    EXPECT_EQ(run.has_value(), false) << room;
    if (run) continue;
    EXPECT_EQ(run.error().code(), ErrorCode::kOutOfMemory);
    EXPECT_EQ(run.error().device(), "b0");
    EXPECT_THAT(run.error().message(), HasSubstr("b0: staging: "));
    EXPECT_EQ(first_.allocated() + inner_.allocated() + host_.allocated(), 0U);
  }
}

}  // namespace
}  // namespace shunt::test::schedule_staging_test
