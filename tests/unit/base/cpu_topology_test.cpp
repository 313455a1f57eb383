#include "base/cpu_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "base/cpu_affinity.h"
#include "base/cpu_quota.h"
#include "support/fake_system.h"

namespace shunt::base_cpu_topology_test {
namespace {

using test::FakeSystem;
using ::testing::ElementsAre;

std::vector<int> first_processors(int count) {
  std::vector<int> processors(static_cast<std::size_t>(count));
  std::iota(processors.begin(), processors.end(), 0);
  return processors;
}

// 2 sockets of 8 cores of 2 hardware threads; hwloc numbers them core by core.
const MachineDescription kTwoSockets{
    .synthetic = "package:2 [numa] l3:1 core:8 pu:2", .xml = "", .root = ""};

TEST(CpuCores, TwoSocketsOfEightCoresOfTwoThreads) {
  const auto cores = read_cpu_cores(first_processors(32), kTwoSockets);
  ASSERT_EQ(cores.size(), 16U);
  for (int i = 0; i < 16; ++i) {
    const CpuCore& core = cores[static_cast<std::size_t>(i)];
    EXPECT_THAT(core.processors, ElementsAre(2 * i, 2 * i + 1));
    EXPECT_EQ(core.node, i / 8);
    EXPECT_EQ(core.cache, i / 8);
  }
}

TEST(CpuCores, SeveralL3CachesInANode) {
  const auto cores =
      read_cpu_cores(first_processors(8),
                     {.synthetic = "package:1 [numa] l3:4 core:2 pu:1", .xml = "", .root = ""});
  ASSERT_EQ(cores.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(cores[i].node, 0);
    EXPECT_EQ(cores[i].cache, static_cast<int>(i / 2));
  }
}

TEST(CpuCores, OnlyAllowedProcessorsCount) {
  // Both threads of core 0, one of core 8 on the other socket, one processor that isn't there.
  const auto cores = read_cpu_cores(std::vector{0, 1, 17, 99}, kTwoSockets);
  EXPECT_THAT(cores, ElementsAre(CpuCore{{0, 1}, 0, 0}, CpuCore{{17}, 1, 1}));
}

TEST(CpuCores, AreGroupedByTopologyNotByNumber) {
  // As servers do: processors 0 to 3 are the first threads of the cores, 4 to 7 the second, and
  // sockets alternate.
  const auto cores =
      read_cpu_cores(first_processors(8),
                     {.synthetic = "package:2 [numa] l3:1 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)",
                      .xml = "",
                      .root = ""});
  EXPECT_THAT(cores, ElementsAre(CpuCore{{0, 4}, 0, 0}, CpuCore{{2, 6}, 0, 0},
                                 CpuCore{{1, 5}, 1, 1}, CpuCore{{3, 7}, 1, 1}));
}

/// Two slow cores of a thread each, then a fast one of two threads.
std::string hybrid_machine() {
  int id = 0;
  const auto object = [&](const char* type, int index, const std::string& set,
                          const std::string& inside, const char* more = "") {
    return "<object type=\"" + std::string(type) + "\" os_index=\"" + std::to_string(index) +
           "\" cpuset=\"" + set + "\" complete_cpuset=\"" + set +
           "\" nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"" + std::to_string(++id) + "\"" +
           more + ">" + inside + "</object>\n";
  };
  const std::string inside =
      object("NUMANode", 0, "0xf", "", " local_memory=\"1024\"") +
      object("Core", 0, "0x1", object("PU", 0, "0x1", "")) +
      object("Core", 1, "0x2", object("PU", 1, "0x2", "")) +
      object("Core", 2, "0xc", object("PU", 2, "0x4", "") + object("PU", 3, "0x8", ""));
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
         "<topology version=\"2.0\">\n" +
         object("Machine", 0, "0xf", inside, " allowed_cpuset=\"0xf\" allowed_nodeset=\"0x1\"") +
         "<cpukind cpuset=\"0x3\" forced_efficiency=\"0\"/>\n"
         "<cpukind cpuset=\"0xc\" forced_efficiency=\"1\"/>\n</topology>\n";
}

TEST(CpuCores, FastCoresComeFirst) {
  const auto cores =
      read_cpu_cores(first_processors(4), {.synthetic = "", .xml = hybrid_machine(), .root = ""});
  EXPECT_THAT(cores, ElementsAre(CpuCore{{2, 3}, 0, 0}, CpuCore{{0}, 0, 0}, CpuCore{{1}, 0, 0}));
}

TEST(CpuCores, UnreadableTopologyHasACorePerProcessor) {
  for (const MachineDescription& machine :
       {MachineDescription{.synthetic = "nonsense:2", .xml = "", .root = ""},
        MachineDescription{.synthetic = "", .xml = "<topology", .root = ""}}) {
    EXPECT_THAT(read_cpu_cores(std::vector{3, 5}, machine),
                ElementsAre(CpuCore{{3}, 0, 0}, CpuCore{{5}, 0, 0}));
  }
  // One that has none of them, too.
  EXPECT_THAT(read_cpu_cores(std::vector{40}, kTwoSockets), ElementsAre(CpuCore{{40}, 0, 0}));
  EXPECT_TRUE(read_cpu_cores({}, kTwoSockets).empty());
}

TEST(CpuCores, OfThisMachineCoverEachProcessorOfThisThreadOnce) {
  const std::vector<int> processors = this_threads_processors();
  ASSERT_FALSE(processors.empty());
  std::vector<int> held;
  testing::internal::CaptureStderr();
  const auto cores = read_cpu_cores(processors);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "not even where there is no /sys";
  for (const CpuCore& core : cores) {
    held.insert(held.end(), core.processors.begin(), core.processors.end());
  }
  std::sort(held.begin(), held.end());
  EXPECT_EQ(held, processors);
}

TEST(CpuCores, WithoutSysfsCoverEachProcessorAndPrintNothing) {
  const FakeSystem empty;
  const FakeSystem other;
  other.file("sys/devices/system/cpu/cpu0/online", "1\n");
  other.file("sys/devices/system/cpu/cpufreq/topology/boost", "1\n");
  const std::vector<int> processors = this_threads_processors();
  for (const std::string& root : {empty.root(), other.root()}) {
    testing::internal::CaptureStderr();
    const auto cores = read_cpu_cores(processors, {.synthetic = "", .xml = "", .root = root});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    std::vector<int> held;
    for (const CpuCore& core : cores) {
      held.insert(held.end(), core.processors.begin(), core.processors.end());
    }
    std::sort(held.begin(), held.end());
    EXPECT_EQ(held, processors);
  }
}

TEST(CpuAffinity, BindsOnlyTheCallingThread) {
  const std::vector<int> before = this_threads_processors();
  std::vector<int> bound;
  std::vector<int> refused;
  std::thread([&] {
    EXPECT_TRUE(bind_this_thread(std::vector{before.back()}));
    bound = this_threads_processors();
    for (const std::vector<int>& wrong :
         {std::vector<int>{}, std::vector{-1}, std::vector{65535}, std::vector{1 << 20}}) {
      EXPECT_FALSE(bind_this_thread(wrong));
    }
    refused = this_threads_processors();
  }).join();
  EXPECT_THAT(bound, ElementsAre(before.back()));
  EXPECT_EQ(refused, bound);
  EXPECT_EQ(this_threads_processors(), before);
}

TEST(CpuQuota, IsTheTightestOfAllParentCgroups) {
  const FakeSystem system;
  system.file("proc/self/cgroup", "0::/a/b\n");
  system.file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(read_cpu_quota(system.root()), 0);
  system.file("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(read_cpu_quota(system.root()), 2);
  system.file("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(read_cpu_quota(system.root()), 1);
}

TEST(CpuQuota, ReadsCgroupV1AndIgnoresInvalidLimits) {
  const FakeSystem system;
  system.file("proc/self/cgroup", "4:cpu,cpuacct:/job\n3:memory:/job\nnonsense\n");
  system.file("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  system.file("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read_cpu_quota(system.root()), 0);
  system.file("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(read_cpu_quota(system.root()), 3);
  system.file("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "0\n");
  EXPECT_EQ(read_cpu_quota(system.root()), 0);
}

/// Two cores of two hardware threads each, and the control group's quota of them.
CpuTopology two_cores(int quota) {
  return {read_cpu_cores(first_processors(4), {.synthetic = "core:2 pu:2", .xml = "", .root = ""}),
          quota, ""};
}

TEST(CpuTopology, DefaultsToAThreadPerCoreWithinTheQuota) {
  struct Case {
    int quota;
    int threads;
    int at_once;
  };
  for (const Case& each : {Case{0, 2, 4}, Case{1, 1, 1}, Case{3, 2, 3}, Case{9, 2, 4}}) {
    const CpuTopology topology = two_cores(each.quota);
    EXPECT_EQ(topology.physical(), 2);
    EXPECT_EQ(topology.logical(), 4);
    EXPECT_EQ(topology.default_threads(), each.threads) << each.quota;
    EXPECT_EQ(topology.at_once(), each.at_once) << each.quota;
  }
}

TEST(CpuTopology, DefaultsToOneCoreIfNothingIsKnown) {
  const CpuTopology topology;
  EXPECT_EQ(topology.physical(), 1);
  EXPECT_EQ(topology.logical(), 1);
  EXPECT_EQ(topology.default_threads(), 1);
  EXPECT_EQ(topology.at_once(), 1);
}

TEST(CpuTopology, CombinesCoresQuotaAndModelName) {
  const FakeSystem system;
  system.file("proc/self/cgroup", "0::/\n");
  system.file("sys/fs/cgroup/cpu.max", "100000 100000\n");
  system.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Abacus 9\n");
  // One core with as many threads as processor numbers go: whatever this process may use is on it.
  const CpuTopology topology =
      read_cpu_topology(system.root(), {.synthetic = "core:1 pu:4096", .xml = "", .root = ""});
  EXPECT_EQ(topology.physical(), 1);
  EXPECT_EQ(topology.logical(), static_cast<int>(this_threads_processors().size()));
  EXPECT_EQ(topology.quota, 1);
  EXPECT_EQ(topology.at_once(), 1);
  EXPECT_EQ(topology.model, "Abacus 9");
}

}  // namespace
}  // namespace shunt::base_cpu_topology_test
