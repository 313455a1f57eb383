// Parts of split weights: each on the device that it is meant for, if that can be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "shunt/costs.h"
#include "shunt/parts.h"
#include "shunt/plan.h"
#include "unit/schedule_place_graphs.h"

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
  }

  Placement must_place(const PlaceOptions& options) {
    auto placed = place(graph, devices, options);
    EXPECT_TRUE(placed) << placed.error().message();
    return placed ? std::move(*placed) : Placement();
  }
  std::vector<PartHome> homes() const { return {{parts[0], &a}, {parts[1], &b}}; }

  Graph graph;
  std::vector<NodeId> parts;
  TestDevice a{{.name = "a"}};
  TestDevice b{{.name = "b"}};
  TestDevice host = cpu();
  std::vector<Device*> devices = {&a, &b, &host};
};

TEST(PlaceParts, EachIsOnItsDevice) {
  for (const bool rules_only : {true, false}) {
    Halves halves;
    const auto homes = halves.homes();
    const CostModel costs;
    PlaceOptions options;
    options.parts = homes;
    options.costs = &costs;
    options.rules_only = rules_only;
    const Placement placement = halves.must_place(options);
    for (int i = 0; i < 2; ++i) {
      const Decision& decision = placement.decisions[halves.parts[static_cast<std::size_t>(i)]];
      EXPECT_EQ(decision.device, i);
      EXPECT_EQ(decision.rule, Rule::kSplit);
      EXPECT_EQ(decision.reason, i == 0 ? "it is the part of a" : "it is the part of b");
    }
    EXPECT_EQ(to_string(Rule::kSplit), "split");
  }
  Halves halves;  // without: all on the first
  EXPECT_EQ(halves.must_place({}).decisions[halves.parts[1]].device, 0);
}

TEST(PlaceParts, ADeviceThatCanNotComputeHasNone) {
  Halves halves;
  TestDevice b({.name = "b", .ops = {"silu"}});
  halves.devices[1] = &b;
  const PartHome homes[] = {{halves.parts[0], &halves.a}, {halves.parts[1], &b}};
  PlaceOptions options;
  options.parts = homes;
  EXPECT_EQ(halves.must_place(options).decisions[halves.parts[1]].device, 0);
}

TEST(PlaceParts, ADeviceThatIsNotThereHasNone) {
  Halves halves;
  const auto homes = halves.homes();
  halves.devices.erase(halves.devices.begin());
  PlaceOptions options;
  options.parts = homes;
  const Placement placement = halves.must_place(options);
  EXPECT_EQ(placement.decisions[halves.parts[0]].rule, Rule::kWeights);
  EXPECT_EQ(placement.decisions[halves.parts[1]].rule, Rule::kSplit);
}

TEST(PlaceParts, PinsComeFirst) {
  Halves halves;
  const auto homes = halves.homes();
  const Pin pins[] = {{"w/1", "a"}};
  PlaceOptions options;
  options.parts = homes;
  options.pins = pins;
  const Decision decision = halves.must_place(options).decisions[halves.parts[1]];
  EXPECT_EQ(decision.device, 0);
  EXPECT_EQ(decision.rule, Rule::kPinned);
}

/// The name of the whole weight matches; the pin names the parts.
TEST(PlaceParts, PinsOfAWholeHoldForItsParts) {
  Halves halves;
  const auto homes = halves.homes();
  const Pin pins[] = {{"w/1", "a"}, {"w", "b", {"w/0", "w/1"}}, {"y", "a", {"no such part"}}};
  PlaceOptions options;
  options.parts = homes;
  options.pins = pins;
  const Placement placement = halves.must_place(options);
  EXPECT_EQ(placement.decisions[halves.parts[0]].device, 1);
  EXPECT_EQ(placement.decisions[halves.parts[0]].rule, Rule::kPinned);
  EXPECT_EQ(placement.decisions[halves.parts[0]].reason, "the pin w=b says so");
  EXPECT_EQ(placement.decisions[halves.parts[1]].device, 0);  // the first that holds counts
  for (const std::string& note : placement.notes) EXPECT_THAT(note, Not(HasSubstr("w=b")));
}

/// A device of priority below 0 that pins name gets what they give it; a share gives it nothing.
TEST(PlaceParts, ADeviceThatGetsPinnedNodesOnlyGetsNoParts) {
  Halves halves;
  TestDevice b({.name = "b", .priority = -1});
  halves.devices[1] = &b;
  const PartHome homes[] = {{halves.parts[0], &halves.a}, {halves.parts[1], &b}};
  PlaceOptions options;
  options.parts = homes;
  const auto user_of_last_part = [&] {
    for (NodeId id = 0; id < halves.graph.size(); ++id) {
      const Node& node = halves.graph.node(id);
      if (!node.is_leaf() && std::ranges::count(node.sources, halves.parts[1]) > 0) return id;
    }
    return kNoNode;
  };
  const NodeId user = user_of_last_part();
  ASSERT_NE(user, kNoNode);
  const Placement shared = halves.must_place(options);
  EXPECT_EQ(shared.decisions[halves.parts[1]].device, 1);
  EXPECT_EQ(shared.decisions[user].device, 1);
  const Pin pins[] = {{"w/0", "b"}};
  options.pins = pins;
  const Placement pinned = halves.must_place(options);
  EXPECT_EQ(pinned.decisions[halves.parts[0]].device, 1);
  EXPECT_NE(pinned.decisions[halves.parts[1]].rule, Rule::kSplit);
  EXPECT_EQ(pinned.decisions[halves.parts[1]].device, 0);
  EXPECT_EQ(pinned.decisions[user].device, 0);
}

TEST(PlaceParts, MemoryThatIsThereComesFirst) {
  Halves halves;
  const auto homes = halves.homes();
  const auto buffer = halves.a.memory().allocate(1 << 16);
  ASSERT_TRUE(buffer);
  const LeafMemory memory[] = {{halves.parts[1], {buffer->get(), 0}}};
  PlaceOptions options;
  options.parts = homes;
  options.memory = memory;
  const Decision decision = halves.must_place(options).decisions[halves.parts[1]];
  EXPECT_EQ(decision.device, 0);
  EXPECT_EQ(decision.rule, Rule::kMemory);
}

TEST(PlaceParts, OnlyLeavesAreParts) {
  Halves halves;
  for (const NodeId id : {static_cast<NodeId>(halves.graph.size() - 1), NodeId{4711}}) {
    const PartHome homes[] = {{id, &halves.a}};
    PlaceOptions options;
    options.parts = homes;
    const auto placed = place(halves.graph, halves.devices, options);
    ASSERT_FALSE(placed);
    EXPECT_THAT(placed.error().message(), HasSubstr("is not a leaf"));
  }
}

}  // namespace
}  // namespace shunt::test::schedule_place_parts_test
