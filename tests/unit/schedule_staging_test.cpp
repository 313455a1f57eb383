// What goes from device to device by way of the host, and the memory that it goes through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "schedule/predict.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/graph_run.h"
#include "support/remote_device.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBytes = 64;  // of what crosses
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

TEST_F(Staging, GoesThroughPinnedMemoryIfThatHasBuffersLargeEnough) {
  for (const std::size_t largest : {kBytes, kBytes - 1}) {
    RemoteDevice second(inner_,
                        {.name = "b0", .ops = {"scale"}, .pinned = {{.max_buffer = largest}}});
    const auto run = compile(second);
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(second.staging_memory()->allocations, largest == kBytes ? kSteps : 0U);
    EXPECT_EQ(second.staging_memory()->largest, largest == kBytes ? kBytes : 0U);
    EXPECT_EQ((*run)->plan().memory().back().staging, kSteps * kBytes);
    const auto predicted =
        predict_memory(graph_, (*run)->plan().placement(), {.steps_in_flight = kSteps});
    ASSERT_TRUE(predicted);
    EXPECT_EQ(predicted->back().staging, kSteps * kBytes);
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

TEST_F(Staging, ThatIsRefusedNamesTheDeviceThatItIsFor) {
  // It has large buffers, but no room: for one step, or for the second.
  for (const std::size_t room : {kBytes - 1, kBytes}) {
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
}  // namespace shunt::test
