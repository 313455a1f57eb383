// The memory that the system has left, as the system and the control groups report it.
#include "base/available_memory.h"

#include <gtest/gtest.h>

#include "support/fake_system.h"

namespace shunt::base_available_memory_test {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// 64 MiB are left, most of it in files.
struct SmallSystem : test::FakeSystem {
  SmallSystem() {
    file("proc/meminfo",
         "MemTotal:         131072 kB\nMemFree:            4096 kB\nMemAvailable:      65536 kB\n");
  }
};

TEST(AvailableMemory, IsMemAvailableOfTheSystem) {
  const SmallSystem system;
  EXPECT_EQ(available_memory(system.root()), 64 * kMiB);
}

TEST(AvailableMemory, IsUnknownWithoutMemAvailable) {
  const test::FakeSystem system;
  EXPECT_EQ(available_memory(system.root()), std::nullopt);
  system.file("proc/meminfo", "MemTotal: 131072 kB\n");  // before Linux 3.14
  EXPECT_EQ(available_memory(system.root()), std::nullopt);
  system.file("proc/meminfo", "MemAvailable: much\n");
  EXPECT_EQ(available_memory(system.root()), std::nullopt);
  system.file("proc/meminfo", "MemAvailable: 18446744073709551615 kB\n");
  EXPECT_EQ(available_memory(system.root()), std::nullopt);
}

TEST(AvailableMemory, IsLimitedByTheTightestParentCgroup) {
  const SmallSystem system;
  system.file("proc/self/cgroup", "0::/a/b\n");
  system.file("sys/fs/cgroup/a/b/memory.max", "max\n");
  system.file("sys/fs/cgroup/a/b/memory.current", "1048576\n");
  EXPECT_EQ(available_memory(system.root()), 64 * kMiB);
  system.file("sys/fs/cgroup/a/memory.max", "33554432\n");
  EXPECT_EQ(available_memory(system.root()), 64 * kMiB) << "how much is taken there is not known";
  system.file("sys/fs/cgroup/a/memory.current", "12582912\n");
  EXPECT_EQ(available_memory(system.root()), 20 * kMiB);
  system.file("sys/fs/cgroup/a/memory.stat",
              "anon 1\nfile 9437184\nactive_file 1048576\ninactive_file 7340032\n");
  EXPECT_EQ(available_memory(system.root()), 28 * kMiB);
  system.file("sys/fs/cgroup/a/b/memory.max", "4194304\n");
  EXPECT_EQ(available_memory(system.root()), 3 * kMiB);
  system.file("sys/fs/cgroup/a/b/memory.current", "9999999\n");
  EXPECT_EQ(available_memory(system.root()), 0U);
  system.file("sys/fs/cgroup/a/b/memory.max", "134217728\n");
  EXPECT_EQ(available_memory(system.root()), 28 * kMiB) << "a group above has less";
}

TEST(AvailableMemory, IsLimitedByCgroupV1) {
  const SmallSystem system;
  system.file("proc/self/cgroup", "4:cpu,cpuacct:/other\n3:memory:/job\n");
  system.file("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  system.file("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "8388608\n");
  EXPECT_EQ(available_memory(system.root()), 64 * kMiB);
  system.file("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "16777216\n");
  EXPECT_EQ(available_memory(system.root()), 8 * kMiB);
  system.file("sys/fs/cgroup/memory/job/memory.stat",
              "inactive_file 1\ntotal_inactive_file 1048576\ntotal_active_file 2097152\n");
  EXPECT_EQ(available_memory(system.root()), 11 * kMiB);
}

TEST(AvailableMemory, IsPositiveOnThisSystem) {
  const auto available = available_memory();
  if (!available) GTEST_SKIP() << "this system does not say";
  EXPECT_GT(*available, 0U);
}

}  // namespace
}  // namespace shunt::base_available_memory_test
