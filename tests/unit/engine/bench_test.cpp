// A run between two probes of reading: when it counts, and when it is made again.
#include "shunt/bench.h"

#include <gtest/gtest.h>

#include "support/scripted_meter.h"

namespace shunt::test::engine_bench_test {
namespace {

/// Runs that take 1 s, 2 s, 3 s and so on.
class Probed : public testing::Test {
 protected:
  Result<SpeedRun> run(std::vector<double> reads, SpeedOptions how = {}) {
    meter_.script = {{Peak::kRead, std::move(reads)}};
    return run_probed(meter_, how, [&]() -> Result<double> { return ++runs_; });
  }
  ScriptedMeter meter_;
  double runs_ = 0;
};

TEST_F(Probed, AcceptsARunWhoseProbesAgree) {
  const auto result = run({100, 91});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->seconds, 1);
  EXPECT_EQ(result->attempts, 1);
  EXPECT_TRUE(result->agreed);
  ASSERT_TRUE(result->probe);
  EXPECT_EQ(result->probe->before, 100);
  EXPECT_EQ(result->probe->after, 91);
}

TEST_F(Probed, RepeatsARunWhoseProbesDisagree) {
  const auto result = run({100, 89, 60, 100, 60, 62});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->seconds, 3);
  EXPECT_EQ(result->attempts, 3);
  EXPECT_TRUE(result->agreed);
  EXPECT_EQ(result->probe->before, 60);
  EXPECT_EQ(result->probe->after, 62);
}

TEST_F(Probed, ReportsDisagreementAfterTheMaximumAttempts) {
  SpeedOptions how;
  how.attempts = 4;
  const auto result = run({10, 20, 30, 40, 50, 60, 70, 80, 90, 100}, how);
  ASSERT_TRUE(result);
  EXPECT_EQ(runs_, 4);
  EXPECT_EQ(result->attempts, 4);
  EXPECT_FALSE(result->agreed);
  EXPECT_EQ(result->seconds, 4);
}

TEST_F(Probed, WarmupRunsAreNotTimed) {
  meter_.script = {{Peak::kRead, {100, 50, 60, 60}}};
  const auto result = run_probed(
      meter_, {}, [&]() -> Result<double> { return ++runs_; }, 2);
  ASSERT_TRUE(result);
  // Two attempts, each with two untimed runs.
  EXPECT_EQ(result->attempts, 2);
  EXPECT_EQ(result->seconds, 6);
}

TEST_F(Probed, ErrorsOfTheRunOrProbeAreReturned) {
  meter_.script = {{Peak::kRead, {100}}};
  const auto failed = run_probed(
      meter_, {}, []() -> Result<double> { return Error(ErrorCode::kDevice, "the run failed"); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "the run failed");
  meter_.error = Error(ErrorCode::kOutOfMemory, "no memory to read");
  const auto unprobed = run({100, 100});
  ASSERT_FALSE(unprobed);
  EXPECT_EQ(unprobed.error().message(), "no memory to read");
  EXPECT_EQ(runs_, 0) << "nothing is run that could not be probed";
}

}  // namespace
}  // namespace shunt::test::engine_bench_test
