// Devices that get work only if they are named. If the list of devices names them, they get all
// that they can do. If pins name them, they get the nodes that are pinned to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "graph/storage_users.h"
#include "shunt/costs.h"
#include "shunt/plan.h"
#include "support/graph_run.h"
#include "unit/schedule/place_graphs.h"

namespace shunt::test::schedule_named_devices_test {
namespace {

using ::testing::HasSubstr;

struct NamedDevice {
  TestDevice named{{.name = "test0", .priority = -1, .ops = {"matmul", "add"}}};
  TestDevice host = cpu();
  std::array<Device*, 2> devices = {&named, &host};
};

TEST(NamedDevices, AreUsedIfTheDeviceListNamesThem) {
  const Mlp mlp = make_mlp();
  NamedDevice all;
  const auto placement = place(*mlp.graph, all.devices);
  ASSERT_TRUE(placement) << placement.error().message();
  EXPECT_EQ(placement->decisions[mlp.first].device, 0);
  EXPECT_EQ(placement->decisions[mlp.sum].device, 0);
}

TEST(NamedDevices, NamedOnlyByPinsGetOnlyPinnedNodes) {
  const Mlp mlp = make_mlp();
  NamedDevice all;
  const std::array pins = {Pin{"y", "test0"}};
  for (const bool by_costs : {false, true}) {
    const CostModel costs;
    PlaceOptions options;
    options.pins = pins;
    if (by_costs) options.costs = &costs;
    const auto placement = place(*mlp.graph, all.devices, options);
    ASSERT_TRUE(placement) << placement.error().message();
    for (NodeId id = 0; id < mlp.graph->size(); ++id) {
      if (!is_computed(mlp.graph->node(id))) continue;
      EXPECT_EQ(placement->decisions[id].device, id == mlp.sum ? 0 : 1) << id;
    }
    const auto& passed = placement->decisions[mlp.first].rejected;
    ASSERT_EQ(passed.size(), 1U);
    EXPECT_EQ(passed[0].refusal, Refusal::kCost);
    EXPECT_THAT(passed[0].reason, HasSubstr("it gets only pinned nodes"));
  }
}

TEST(NamedDevices, WithDefaultPriorityAlsoGetUnpinnedNodes) {
  const Mlp mlp = make_mlp();
  TestDevice test = accelerator();
  TestDevice host = cpu();
  const std::array<Device*, 2> devices = {&test, &host};
  const std::array pins = {Pin{"y", "test0"}};
  PlaceOptions options;
  options.pins = pins;
  const auto placement = place(*mlp.graph, devices, options);
  ASSERT_TRUE(placement) << placement.error().message();
  EXPECT_EQ(placement->decisions[mlp.first].device, 0);
}

}  // namespace
}  // namespace shunt::test::schedule_named_devices_test
