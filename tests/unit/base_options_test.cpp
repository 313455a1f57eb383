#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/cpu_topology.h"
#include "base/guarded.h"
#include "shunt/error.h"
#include "shunt/options.h"

namespace shunt {
namespace {

using ::testing::HasSubstr;

/// Sets a variable for as long as it lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Options, ComeFromTheEnvironment) {
  const Environment threads("SHUNT_THREADS", "3");
  const Environment path("SHUNT_BACKEND_PATH", "/a:/b");
  const auto options = options_from_environment();
  ASSERT_TRUE(options);
  EXPECT_EQ(options->threads, 3);
  EXPECT_EQ(options->backend_path, "/a:/b");
}

TEST(Options, AVariableThatMakesNoSenseIsNamed) {
  for (const char* text : {"-1", "two", "1x", "99999999999999999999"}) {
    const Environment threads("SHUNT_THREADS", text);
    const auto options = options_from_environment();
    ASSERT_FALSE(options) << text;
    EXPECT_THAT(options.error().message(), HasSubstr("SHUNT_THREADS"));
    EXPECT_THAT(options.error().message(), HasSubstr(text));
  }
}

TEST(Options, EveryOneIsDocumented) {
  for (const OptionInfo& option : option_table()) {
    EXPECT_TRUE(option.environment.starts_with("SHUNT_"));
    EXPECT_FALSE(option.help.empty());
  }
}

/// A made-up system: what it says of its processors.
class FakeSystem {
 public:
  FakeSystem() : root_(std::filesystem::temp_directory_path() / "shunt-topology-test") {
    std::filesystem::remove_all(root_);
  }
  ~FakeSystem() { std::filesystem::remove_all(root_); }
  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  CpuTopology read() const { return read_cpu_topology(root_.string()); }

 private:
  std::filesystem::path root_;
};

TEST(CpuTopology, TwoProcessorsOfOneCoreCountOnce) {
  const FakeSystem system;
  const int processors = system.read().logical;
  for (int i = 0; i < 4096; ++i) {
    system.file("sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/thread_siblings_list",
                "0-4095\n");
    if (i >= processors * 4 && i > 64) break;
  }
  const CpuTopology topology = system.read();
  EXPECT_EQ(topology.physical, 1);
  EXPECT_EQ(topology.default_threads(), 1);
}

TEST(CpuTopology, TheControlGroupLimitsThreads) {
  const FakeSystem system;
  system.file("proc/self/cgroup", "0::/a/b\n");
  system.file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(system.read().quota, 0);
  system.file("sys/fs/cgroup/a/cpu.max", "150000 100000\n");  // a group above counts too
  EXPECT_EQ(system.read().quota, 2);
  system.file("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(system.read().quota, 1);
  EXPECT_EQ(system.read().default_threads(), 1);
}

TEST(CpuTopology, TheFirstVersionOfControlGroupsTooAndNonsenseIsNoLimit) {
  const FakeSystem system;
  system.file("proc/self/cgroup", "4:cpu,cpuacct:/job\n3:memory:/job\nnonsense\n");
  system.file("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  system.file("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(system.read().quota, 0);
  system.file("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(system.read().quota, 3);
  system.file("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "0\n");
  EXPECT_EQ(system.read().quota, 0);
}

TEST(Errors, CarryContextAndVendor) {
  const Error error = Error(ErrorCode::kDevice, "launch failed")
                          .with_context("cuda0")
                          .with_vendor({700, "illegal address"});
  EXPECT_EQ(error.message(), "cuda0: launch failed");
  EXPECT_EQ(error.vendor()->code, 700);
  EXPECT_EQ(to_string(error.code()), "device");
  EXPECT_EQ(to_text(error), "cuda0: launch failed (code 700: illegal address)");
  EXPECT_EQ(error.device(), "");
}

TEST(Errors, KeepWhatWasSaidFirstOfDeviceAndNode) {
  const Error error = Error(ErrorCode::kDevice, "launch failed")
                          .with_node("q (matmul)")
                          .with_device("cuda0")
                          .with_node("a whole segment")
                          .with_device("cpu0");
  EXPECT_EQ(error.node(), "q (matmul)");
  EXPECT_EQ(error.device(), "cuda0");
  EXPECT_EQ(to_text(error), "launch failed");
}

TEST(Errors, WhatIsThrownBecomesOne) {
  const auto memory = guarded([]() -> Status { throw std::bad_alloc(); }, "model.gguf");
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(memory.error().message(), "model.gguf: out of memory");
  const auto other = guarded([]() -> Result<int> { throw std::runtime_error("surprise"); });
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::kInternal);
  EXPECT_TRUE(guarded([]() -> Result<int> { return 3; }));
}

}  // namespace
}  // namespace shunt
