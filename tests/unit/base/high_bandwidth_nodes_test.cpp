// Which NUMA nodes have high-bandwidth memory, on machines as hwloc describes them.
#include "base/high_bandwidth_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "support/numa_machines.h"

namespace shunt::test::base_high_bandwidth_nodes_test {
namespace {

using ::testing::ElementsAre;

std::vector<int> found(const MachineDescription& machine) {
  const auto nodes = HighBandwidthNodes::find(machine);
  return nodes == nullptr ? std::vector<int>() : nodes->numbers();
}

TEST(HighBandwidthNodes, AreNodesOfAnHbmSubtype) {
  EXPECT_THAT(found(machine_with({{"DRAM"}, {"HBM"}})), ElementsAre(1));
  EXPECT_THAT(found(machine_with({{}, {"MCDRAM"}, {"HBM"}})), ElementsAre(1, 2));
  EXPECT_THAT(found(machine_with({{"HBM"}})), ElementsAre(0)) << "there is nothing else";
}

/// Where nodes have subtypes, bandwidths do not count.
TEST(HighBandwidthNodes, AreNoneAmongOtherSubtypes) {
  EXPECT_THAT(found(machine_with({{"DRAM", 100}, {"GPUMemory", 900}, {"NVM", 10}})), ElementsAre());
  EXPECT_THAT(found(machine_with({{"", 100}, {"hbm", 900}})), ElementsAre())
      << "as hwloc writes it";
}

TEST(HighBandwidthNodes, AreNodesOfTwiceTheBandwidthWithoutSubtypes) {
  EXPECT_THAT(found(machine_with({{"", 100}, {"", 400}})), ElementsAre(1));
  EXPECT_THAT(found(machine_with({{"", 100}, {"", 200}})), ElementsAre(1));
  EXPECT_THAT(found(machine_with({{"", 100}, {"", 199}})), ElementsAre());
  EXPECT_THAT(found(machine_with({{"", 400}, {"", 100}, {"", 300}})), ElementsAre(0, 2));
}

TEST(HighBandwidthNodes, AreFoundDespiteANodeOfUnknownBandwidth) {
  EXPECT_THAT(found(machine_with({{"", 100}, {"", 400}, {}})), ElementsAre(1));
  EXPECT_THAT(found(machine_with({{}, {"", 400}, {"", 100}})), ElementsAre(1));
}

/// Memory of another subtype is neither the slowest node nor a result.
TEST(HighBandwidthNodes, AreFoundDespiteUnrelatedSubtypes) {
  EXPECT_THAT(found(machine_with({{"", 100}, {"", 400}, {"NVM", 10}})), ElementsAre(1));
  EXPECT_THAT(found(machine_with({{"", 100}, {"", 150}, {"NVM", 10}})), ElementsAre());
  EXPECT_THAT(found(machine_with({{"", 100}, {"", 150}, {"GPUMemory", 900}})), ElementsAre());
}

TEST(HighBandwidthNodes, AreNoneIfBandwidthsAreUnknown) {
  EXPECT_THAT(found(machine_with({{}, {}})), ElementsAre());
  EXPECT_THAT(found(machine_with({{"", 400}, {}})), ElementsAre());
  EXPECT_THAT(found({.synthetic = "package:2 [numa] core:2 pu:2", .xml = "", .root = ""}),
              ElementsAre());
}

TEST(HighBandwidthNodes, AreNoneIfTheTopologyCannotBeRead) {
  EXPECT_THAT(found({.synthetic = "", .xml = "<topology", .root = ""}), ElementsAre());
}

/// hwloc gives memory of this machine for one that is made up.
TEST(HighBandwidthNodes, GiveMemoryThatOutlivesTheirHandle) {
  auto nodes = HighBandwidthNodes::find(machine_with({{"DRAM"}, {"HBM"}}));
  ASSERT_NE(nodes, nullptr);
  const auto memory = nodes->allocate(1 << 20);
  ASSERT_NE(memory, nullptr);
  nodes.reset();
  std::memset(memory.get(), 0x5a, 1 << 20);
  EXPECT_EQ(memory.get()[(1 << 20) - 1], std::byte{0x5a});
}

}  // namespace
}  // namespace shunt::test::base_high_bandwidth_nodes_test
