// The order of devices: the last one is the CPU.
#include "device/device_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/per_node.h"
#include "shunt/ops.h"
#include "support/numbers_of.h"
#include "support/test_device.h"

namespace shunt::test::device_set_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DeviceIndices, LastDeviceIsTheCpu) {
  const DeviceIndices three(3);
  EXPECT_EQ(three.cpu(), 2);
  EXPECT_TRUE(three.is_cpu(2));
  EXPECT_FALSE(three.is_cpu(1));
  EXPECT_FALSE(three.is_cpu(3));
  EXPECT_THAT(numbers_of<DeviceIndex>(three), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers_of<DeviceIndex>(three.accelerators()), ElementsAre(0, 1));
}

TEST(DeviceIndices, CpuOnlyHasNoAccelerators) {
  EXPECT_EQ(DeviceIndices(1).cpu(), 0);
  EXPECT_THAT(numbers_of<DeviceIndex>(DeviceIndices(1).accelerators()), IsEmpty());
}

TEST(DeviceIndices, WithoutDevicesThereIsNoCpu) {
  EXPECT_EQ(DeviceIndices(0).cpu(), kNoDevice);
  EXPECT_FALSE(DeviceIndices(0).is_cpu(kNoDevice));
  EXPECT_THAT(numbers_of<DeviceIndex>(DeviceIndices(0)), IsEmpty());
  EXPECT_THAT(numbers_of<DeviceIndex>(DeviceIndices(0).accelerators()), IsEmpty());
}

TEST(PerDevice, HasAValueForEachDevice) {
  PerDevice<int> bytes = {10, 20, 30};
  EXPECT_EQ(bytes[1], 20);
  EXPECT_EQ(bytes.cpu(), 2);
  bytes.of_cpu() += 1;
  EXPECT_THAT(bytes, ElementsAre(10, 20, 31));
  const DeviceSpan<const int> view(bytes);
  EXPECT_EQ(view.of_cpu(), 31);
  EXPECT_EQ(view[0], 10);
  EXPECT_THAT(numbers_of<DeviceIndex>(view.accelerators()), ElementsAre(0, 1));
}

TEST(DeviceSet, KnowsItsCpu) {
  TestDevice fast(TestDeviceConfig{.name = "test0"});
  TestDevice slow(TestDeviceConfig{.name = "test1"});
  TestDevice cpu(TestDeviceConfig{.name = "cpu0", .kind = DeviceKind::kCpu});
  Device* const all[] = {&fast, &slow, &cpu};
  const DeviceSet devices(all);
  EXPECT_TRUE(devices.has_cpu());
  EXPECT_EQ(&devices.cpu_device(), &cpu);
  EXPECT_EQ(devices[1], &slow);
  EXPECT_EQ(devices.find(&slow), 1);
  EXPECT_EQ(devices.find(nullptr), kNoDevice);
}

TEST(DeviceSet, LacksACpuIfTheLastDeviceIsNone) {
  TestDevice accelerator(TestDeviceConfig{.name = "test0"});
  TestDevice cpu(TestDeviceConfig{.name = "cpu0", .kind = DeviceKind::kCpu});
  Device* const reversed[] = {&cpu, &accelerator};
  EXPECT_FALSE(DeviceSet(reversed).has_cpu());
  EXPECT_FALSE(DeviceSet().has_cpu());
}

TEST(PerNode, HasAValueForEachNodeOfAGraph) {
  GraphBuilder g;
  const Result<Value> x = g.input("x", *make_tensor(DType::kF32, {4}));
  const Result<Value> y = neg(g, x);
  ASSERT_TRUE(g.output(y, "y"));
  const Result<Graph> graph = std::move(g).build();
  ASSERT_TRUE(graph);
  PerNode<int> uses(*graph, 7);
  ASSERT_EQ(uses.size(), graph->size());
  uses[y->id] = 1;
  EXPECT_EQ(uses[x->id], 7);
  EXPECT_EQ(uses[y->id], 1);
}

}  // namespace
}  // namespace shunt::test::device_set_test
