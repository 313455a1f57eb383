// Where /sys is absent, as in a bare container, each command printed a message of hwloc on stderr;
// and each command read the topology twice. Right since 59c6de0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/cpu_affinity.h"
#include "base/cpu_topology.h"
#include "support/fake_system.h"
#include "support/run_command.h"

namespace shunt::test::hwloc_message_without_sysfs_test {
namespace {

constexpr int kNotAllowed = 77;  // the exit code

/// Makes an empty folder the root of this process, as root or in a user namespace of its own.
bool enter(const std::string& folder) {
  return ::chroot(folder.c_str()) == 0 ||
         (::unshare(CLONE_NEWUSER) == 0 && ::chroot(folder.c_str()) == 0);
}

TEST(Hwloc, PrintsNothingWithoutSysfs) {
  const FakeSystem empty;
  const auto read_without_sysfs = [&] {
    if (!enter(empty.root())) std::_Exit(kNotAllowed);
    const CpuTopology topology = read_cpu_topology();
    std::_Exit(topology.logical() == std::ssize(this_threads_processors()) ? 0 : 1);
  };
  bool tested = true;
  const auto succeeded = [&](int status) {
    tested = !WIFEXITED(status) || WEXITSTATUS(status) != kNotAllowed;
    return !tested || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
  };
  EXPECT_EXIT(read_without_sysfs(), succeeded, testing::IsEmpty());
  if (!tested) GTEST_SKIP() << "this user may not change the root: NOT TESTED.";
}

TEST(Hwloc, ReadsTheTopologyOncePerCommand) {
  RunOptions options;
  options.environment["HWLOC_COMPONENTS_VERBOSE"] = "1";  // a line for each time
  const RunResult result = run_command({"devices"}, options);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string line = "Registered discovery component `no_os'";
  const std::size_t first = result.err.find(line);
  ASSERT_NE(first, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find(line, first + 1), std::string::npos) << result.err;
}

}  // namespace
}  // namespace shunt::test::hwloc_message_without_sysfs_test
