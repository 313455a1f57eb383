// Captured graphs of CANN devices, and the calls of runs: launches, copies, allocations. The twin
// counts them.
#include <gmock/gmock.h>

#include <algorithm>

#include "backends/cann/cann_devices.h"
#include "support/networks.h"

namespace shunt::test::cann_graphs_test {
namespace {

class CannGraphs : public CannDevices {
 protected:
  std::uint64_t captures() const { return twin_.count(AscendCount::kCaptures); }
  std::uint64_t replays() const { return twin_.count(AscendCount::kReplays); }
  std::uint64_t launches() const { return twin_.count(AscendCount::kSecondPhases); }
  std::vector<double> output(const GraphRun& run, const Network& network) const {
    return run.output(network.graph->outputs()[0]).value().data;
  }
};

TEST_F(CannGraphs, TheSecondRunIsCapturedAndTheNextOnesAreReplayed) {
  const Network network = bert();
  const auto run = make_run(network.graph, network.leaves);
  ASSERT_NE(run, nullptr);
  const auto segments =
      static_cast<std::uint64_t>(std::ranges::count(run->plan().segments(), 0, &Segment::device));
  std::vector<double> expected;
  for (int i = 0; i < 6; ++i) {
    const auto captured = captures(), replayed = replays(), launched = launches();
    ASSERT_EQ(error_of(run->plan().run()), "");
    EXPECT_EQ(captures() - captured, i == 1 ? segments : 0) << i;
    EXPECT_EQ(replays() - replayed, i >= 1 ? segments : 0) << i;
    if (i >= 2) {
      EXPECT_EQ(launches(), launched) << i;
    }
    const auto found = output(*run, network);
    if (i > 0) {
      EXPECT_EQ(found, expected) << i;
    }
    expected = found;
  }
}

/// A capture that fails, at its begin, at a task, or at its end, costs only speed.
TEST_F(CannGraphs, AFailedCaptureLeavesTheResult) {
  const Network network = bert();
  std::vector<double> expected;
  int failed = 0;
  for (int n = 1; n < 2000; n += 1 + n / 8) {
    reopen({{"FAIL_CAPTURE", "0"}});
    const auto run = make_run(network.graph, network.leaves);
    ASSERT_NE(run, nullptr);
    twin_.set("FAIL_CAPTURE", std::to_string(n));
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(error_of(run->plan().run()), "") << "call " << n << ", run " << i;
      const auto found = output(*run, network);
      if (expected.empty()) expected = found;
      EXPECT_EQ(found, expected) << "call " << n << ", run " << i;
    }
    if (captures() > 0) break;
    ++failed;
  }
  EXPECT_GT(failed, 2);
  EXPECT_GT(captures(), 0U);
}

/// A replay that fails is an error of the run.
TEST_F(CannGraphs, AFailureInAReplayIsAnErrorOfTheRun) {
  const Network network = bert();
  const auto run = make_run(network.graph, network.leaves);
  ASSERT_NE(run, nullptr);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(error_of(run->plan().run()), "");
  const auto expected = output(*run, network);
  int failures = 0;
  for (int n = 1; n < 100; ++n) {
    twin_.set("FAIL_LATE", std::to_string(n));
    const Status failed = run->plan().run();
    twin_.set("FAIL_LATE", "0");
    if (failed) break;
    ++failures;
    EXPECT_EQ(failed.error().vendor()->code, 507015) << n;
    EXPECT_EQ(error_of(run->plan().run()), "") << n;
    EXPECT_EQ(output(*run, network), expected) << n;
  }
  EXPECT_GE(failures, 3) << "a copy, a replay, a copy";
}

/// After warm-up a run allocates nothing, drains nothing, and calls two phases for each operator at
/// most.
struct ProfileCase {
  const char* profile;
  const char* graph;
};
class CannCounts : public CannGraphs, public testing::WithParamInterface<ProfileCase> {};

TEST_P(CannCounts, ARunAllocatesNothingAndCallsTwoPhasesForEachOperator) {
  Options options = with("graph", GetParam().graph);
  options.backend_options["cann"]["matmul"] = "f16";
  reopen({{"PROFILE", GetParam().profile}}, options);
  for (Network (*make)() : {bert, gemma}) {
    const Network network = make();
    const auto run = make_run(network.graph, network.leaves);
    ASSERT_NE(run, nullptr);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(error_of(run->plan().run()), "");
    const auto count = [&](AscendCount counter) { return twin_.count(counter); };
    const auto memory = count(AscendCount::kDeviceAllocations);
    const auto pinned = count(AscendCount::kHostAllocations);
    const auto drains = count(AscendCount::kDrains);
    const auto first = count(AscendCount::kFirstPhases), second = launches();
    const auto descriptors = twin_.calls("aclCreateTensor");
    constexpr std::uint64_t kRuns = 3;
    for (std::uint64_t i = 0; i < kRuns; ++i) ASSERT_EQ(error_of(run->plan().run()), "");
    EXPECT_EQ(count(AscendCount::kDeviceAllocations), memory);
    EXPECT_EQ(count(AscendCount::kHostAllocations), pinned);
    EXPECT_EQ(count(AscendCount::kDrains), drains);
    if (std::string_view(GetParam().graph) == "off" ||
        std::string_view(GetParam().profile) == "310b") {
      EXPECT_GT(launches(), second);
      EXPECT_EQ(count(AscendCount::kFirstPhases), first) << "executors are kept";
      EXPECT_EQ(twin_.calls("aclCreateTensor"), descriptors);
    } else {
      EXPECT_EQ(launches(), second) << "a run is a replay";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, CannCounts,
                         testing::Values(ProfileCase{"910b", "on"}, ProfileCase{"910b", "off"},
                                         ProfileCase{"310p", "on"}, ProfileCase{"310b", "on"}),
                         [](const auto& test) {
                           return std::string(test.param.profile) + "_graph_" + test.param.graph;
                         });

}  // namespace
}  // namespace shunt::test::cann_graphs_test
