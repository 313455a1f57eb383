// Parts of split weights: each on the device that it is meant for, if that can be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "shunt/costs.h"
#include "shunt/parts.h"
#include "shunt/plan.h"
#include "unit/schedule/place_graphs.h"

namespace shunt::test::schedule_place_parts_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Two devices and a CPU, and a product in two parts.
struct Halves {
  Halves() {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {32, 4}));
    const auto w = g.weight("w", *make_tensor(DType::kF32, {32, 64}));
    EXPECT_TRUE(g.output(silu(g, matmul(g, w, x)), "y"));
    const Graph whole = *std::move(g).build();
    const LeafParts rows[] = {{w->id, 1, {48, 16}}};
    PartedGraph made = *with_parts(whole, rows);
    parts = made.parts[w->id];
    graph = std::move(made.graph);
    homes = {{parts[0], &a}, {parts[1], &b}};
    options.parts = homes;
  }

  Placement must_place() {
    auto placed = place(graph, devices, options);
    EXPECT_TRUE(placed) << placed.error().message();
    return placed ? std::move(*placed) : Placement();
  }
  Decision of_last_part() { return must_place().decisions[parts[1]]; }
  /// The second device of the list, and of the second part.
  void replace_b(TestDevice& device) {
    devices[1] = &device;
    homes[1].device = &device;
  }

  Graph graph;
  std::vector<NodeId> parts;
  TestDevice a{{.name = "a"}};
  TestDevice b{{.name = "b"}};
  TestDevice host = cpu();
  std::vector<Device*> devices = {&a, &b, &host};
  std::vector<PartHome> homes;
  PlaceOptions options;  ///< with `homes`
};

TEST(PlaceParts, EachPartIsOnItsDevice) {
  for (const bool rules_only : {true, false}) {
    Halves halves;
    const CostModel costs;
    halves.options.costs = &costs;
    halves.options.rules_only = rules_only;
    const Placement placement = halves.must_place();
    for (int i = 0; i < 2; ++i) {
      const Decision& decision = placement.decisions[halves.parts[static_cast<std::size_t>(i)]];
      EXPECT_EQ(decision.device, i);
      EXPECT_EQ(decision.rule, Rule::kSplit);
      EXPECT_EQ(decision.reason, i == 0 ? "it is the part of a" : "it is the part of b");
    }
    EXPECT_EQ(to_string(Rule::kSplit), "split");
  }
  Halves halves;
  halves.options = {};  // without homes all parts are on the first device
  EXPECT_EQ(halves.of_last_part().device, 0);
}

TEST(PlaceParts, DeviceThatCannotComputeGetsNoPart) {
  Halves halves;
  TestDevice b({.name = "b", .ops = {"silu"}});
  halves.replace_b(b);
  EXPECT_EQ(halves.of_last_part().device, 0);
}

TEST(PlaceParts, MissingDeviceGetsNoPart) {
  Halves halves;
  halves.devices.erase(halves.devices.begin());
  const Placement placement = halves.must_place();
  EXPECT_EQ(placement.decisions[halves.parts[0]].rule, Rule::kWeights);
  EXPECT_EQ(placement.decisions[halves.parts[1]].rule, Rule::kSplit);
}

TEST(PlaceParts, PinsOverrideTheSplit) {
  Halves halves;
  const Pin pins[] = {{"w/1", "a"}};
  halves.options.pins = pins;
  const Decision decision = halves.of_last_part();
  EXPECT_EQ(decision.device, 0);
  EXPECT_EQ(decision.rule, Rule::kPinned);
}

/// The name of the whole weight matches; the pin names the parts.
TEST(PlaceParts, PinOfAWholeWeightAppliesToItsParts) {
  Halves halves;
  const Pin pins[] = {{"w/1", "a"}, {"w", "b", {"w/0", "w/1"}}, {"y", "a", {"no such part"}}};
  halves.options.pins = pins;
  const Placement placement = halves.must_place();
  EXPECT_EQ(placement.decisions[halves.parts[0]].device, 1);
  EXPECT_EQ(placement.decisions[halves.parts[0]].rule, Rule::kPinned);
  EXPECT_EQ(placement.decisions[halves.parts[0]].reason, "set by the pin w=b");
  EXPECT_EQ(placement.decisions[halves.parts[1]].device, 0);  // the first that holds counts
  for (const std::string& note : placement.notes) EXPECT_THAT(note, Not(HasSubstr("w=b")));
}

/// A device of priority below 0 that pins name gets the nodes that they give it. A share gives it
/// nothing.
TEST(PlaceParts, DeviceNamedOnlyByPinsGetsNoParts) {
  Halves halves;
  TestDevice b({.name = "b", .priority = -1});
  halves.replace_b(b);
  const auto user_of_last_part = [&] {
    for (NodeId id = 0; id < halves.graph.size(); ++id) {
      const Node& node = halves.graph.node(id);
      if (!node.is_leaf() && std::ranges::count(node.sources, halves.parts[1]) > 0) return id;
    }
    return kNoNode;
  };
  const NodeId user = user_of_last_part();
  ASSERT_NE(user, kNoNode);
  const Placement shared = halves.must_place();
  EXPECT_EQ(shared.decisions[halves.parts[1]].device, 1);
  EXPECT_EQ(shared.decisions[user].device, 1);
  const Pin pins[] = {{"w/0", "b"}};
  halves.options.pins = pins;
  const Placement pinned = halves.must_place();
  EXPECT_EQ(pinned.decisions[halves.parts[0]].device, 1);
  EXPECT_NE(pinned.decisions[halves.parts[1]].rule, Rule::kSplit);
  EXPECT_EQ(pinned.decisions[halves.parts[1]].device, 0);
  EXPECT_EQ(pinned.decisions[user].device, 0);
}

TEST(PlaceParts, AllocatedMemoryOverridesTheSplit) {
  Halves halves;
  const auto buffer = halves.a.memory().allocate(1 << 16);
  ASSERT_TRUE(buffer);
  const LeafMemory memory[] = {{halves.parts[1], {buffer->get(), 0}}};
  halves.options.memory = memory;
  const Decision decision = halves.of_last_part();
  EXPECT_EQ(decision.device, 0);
  EXPECT_EQ(decision.rule, Rule::kMemory);
}

TEST(PlaceParts, OnlyLeavesAreParts) {
  Halves halves;
  for (const NodeId id : {static_cast<NodeId>(halves.graph.size() - 1), NodeId{4711}}) {
    halves.homes = {{id, &halves.a}};
    halves.options.parts = halves.homes;
    const auto placed = place(halves.graph, halves.devices, halves.options);
    ASSERT_FALSE(placed);
    EXPECT_EQ(placed.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(placed.error().message(), HasSubstr("is not a leaf"));
  }
}

}  // namespace
}  // namespace shunt::test::schedule_place_parts_test
