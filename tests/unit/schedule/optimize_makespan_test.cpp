// The makespan against examples worked by hand. Times are in whole seconds.
#include <gtest/gtest.h>

#include <map>

#include "schedule/place/optimize/makespan.h"
#include "unit/schedule/optimize_problems.h"

namespace shunt::schedule_optimize_makespan_test {
namespace {

CostValue result(std::uint32_t node) {
  return {false, node};
}
CostValue external(std::uint32_t index) {
  return {true, index};
}

/// Two devices, each byte takes a second from one to the other.
CostProblem two_devices() {
  CostProblem problem;
  problem.devices = 2;
  problem.links.assign(4, {0, 1});
  return problem;
}

TEST(Makespan, EmptyProblemTakesNoTime) {
  EXPECT_EQ(makespan(two_devices(), {}), 0);
}

TEST(Makespan, ChainIsTheSumOfItsNodesAndCopies) {
  CostProblem problem = two_devices();
  problem.nodes = {{{3, 9}, {}, 2}, {{9, 4}, {result(0)}, 5}, {{1, 9}, {result(1)}, 0}};
  EXPECT_EQ(makespan(problem, {0, 1, 0}), 3 + 2 + 4 + 5 + 1);
  EXPECT_EQ(makespan(problem, {0, 0, 0}), 3 + 9 + 1);
}

TEST(Makespan, EachTransferPaysTheLatency) {
  CostProblem problem = two_devices();
  problem.links[1] = {10, 2};  // 0 -> 1
  problem.nodes = {{{1, 1}, {}, 3}, {{1, 1}, {result(0)}, 0}};
  EXPECT_EQ(makespan(problem, {0, 1}), 1 + (10 + 3 * 2) + 1);
  EXPECT_EQ(makespan(problem, {1, 0}), 1 + 3 + 1);
}

TEST(Makespan, DevicesRunInParallelAndEachRunsOneNodeAtATime) {
  CostProblem problem = two_devices();
  problem.nodes = {{{5, 5}, {}, 0}, {{7, 7}, {}, 0}, {{1, 1}, {}, 0}};
  EXPECT_EQ(makespan(problem, {0, 1, 0}), 7);
  EXPECT_EQ(makespan(problem, {0, 0, 0}), 13);
}

TEST(Makespan, DeviceRunsNodesInOrderEvenIfALaterOneIsReady) {
  CostProblem problem = two_devices();
  // Node 1 on device 0 waits until 10 + 2; node 2, which needs nothing, comes after it.
  problem.nodes = {{{9, 10}, {}, 2}, {{1, 9}, {result(0)}, 0}, {{4, 9}, {}, 0}};
  EXPECT_EQ(makespan(problem, {1, 0, 0}), 10 + 2 + 1 + 4);
}

TEST(Makespan, ValueIsTransferredOncePerDevice) {
  CostProblem problem = two_devices();
  problem.nodes = {{{1, 1}, {}, 6}, {{1, 2}, {result(0)}, 0}, {{1, 2}, {result(0)}, 0}};
  EXPECT_EQ(makespan(problem, {0, 1, 1}), 1 + 6 + 2 + 2);
  EXPECT_EQ(makespan(problem, {0, 1, 0}), 1 + 6 + 2);
}

TEST(Makespan, SourceReadTwiceByANodeIsTransferredOnce) {
  CostProblem problem = two_devices();
  problem.nodes = {{{1, 1}, {}, 6}, {{1, 2}, {result(0), result(0)}, 0}};
  EXPECT_EQ(makespan(problem, {0, 1}), 1 + 6 + 2);
}

TEST(Makespan, LinkTransfersOneValueAtATimeInOrderOfFirstReaders) {
  CostProblem problem = two_devices();
  // Made at 1 and 2 on device 0. Node 2 reads the later one first: it crosses from 2 to 12, the
  // other from 12 to 17.
  problem.nodes = {
      {{1, 9}, {}, 5}, {{1, 9}, {}, 10}, {{9, 1}, {result(1)}, 0}, {{9, 1}, {result(0)}, 0}};
  EXPECT_EQ(makespan(problem, {0, 0, 1, 1}), 17 + 1);
  // Other way round: from 1 to 6 and from 6 to 16.
  std::swap(problem.nodes[2], problem.nodes[3]);
  EXPECT_EQ(makespan(problem, {0, 0, 1, 1}), 16 + 1);
}

TEST(Makespan, BothDirectionsOfALinkRunInParallel) {
  CostProblem problem = two_devices();
  problem.nodes = {
      {{1, 9}, {}, 5}, {{9, 1}, {}, 5}, {{9, 1}, {result(0)}, 0}, {{1, 9}, {result(1)}, 0}};
  EXPECT_EQ(makespan(problem, {0, 1, 1, 0}), 1 + 5 + 1);
}

TEST(Makespan, ExternalValuesAreThereFromTheStart) {
  CostProblem problem = two_devices();
  problem.externals = {{1, 4}};
  problem.nodes = {{{3, 3}, {}, 0}, {{2, 2}, {external(0)}, 0}};
  EXPECT_EQ(makespan(problem, {0, 1}), 3);
  EXPECT_EQ(makespan(problem, {0, 0}), 4 + 2);  // crosses while node 0 is computed
}

TEST(Makespan, FinalReadsAreTransferredAfterAllNodes) {
  CostProblem problem = two_devices();
  problem.nodes = {{{1, 1}, {}, 5}, {{1, 1}, {}, 2}};
  problem.final_reads = {{result(0), 1}, {result(1), 1}};
  EXPECT_EQ(makespan(problem, {0, 0}), 1 + 5 + 2);
  EXPECT_EQ(makespan(problem, {0, 1}), 1 + 5);
  EXPECT_EQ(makespan(problem, {1, 1}), 2);
}

TEST(Makespan, ReportsStartAndEndOfNodesAndTransfers) {
  CostProblem problem = two_devices();
  problem.externals = {{0, 4}};
  problem.nodes = {{{3, 9}, {}, 2}, {{9, 5}, {external(0), result(0)}, 6}};
  problem.final_reads = {{result(1), 0}};
  StepTimes times;
  // The external value crosses from 0 to 4 and node 0's result, made at 3, behind it.
  EXPECT_EQ(makespan(problem, {0, 1}, &times), 6 + 5 + 6);
  ASSERT_EQ(times.nodes.size(), 2U);
  EXPECT_EQ(times.nodes[0].start, 0);
  EXPECT_EQ(times.nodes[0].end, 3);
  EXPECT_EQ(times.nodes[1].start, 6);
  EXPECT_EQ(times.nodes[1].end, 11);
  ASSERT_EQ(times.transfers.size(), 3U);
  const double starts_and_ends[][2] = {{0, 4}, {4, 6}, {11, 17}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(times.transfers[i].start, starts_and_ends[i][0]);
    EXPECT_EQ(times.transfers[i].end, starts_and_ends[i][1]);
    EXPECT_EQ(times.transfers[i].from, i < 2 ? 0 : 1);
    EXPECT_EQ(times.transfers[i].to, i < 2 ? 1 : 0);
    EXPECT_EQ(times.transfers[i].value.external, i == 0);
  }
}

/// On problems drawn at random: each device and link does one thing at a time. Nothing starts
/// before the values that it reads are there.
TEST(Makespan, RandomProblemsKeepDependenciesAndExclusiveUse) {
  ProblemGenerator generator(1);
  for (int round = 0; round < 50; ++round) {
    const CostProblem problem = generator.draw({.nodes = 40});
    const Assignment assignment = generator.draw_start(problem);
    StepTimes times;
    const double seconds = makespan(problem, assignment, &times);
    ASSERT_LT(seconds, kNever);
    EXPECT_EQ(seconds, makespan(problem, assignment));
    double last = 0;
    std::map<int, double> device_free;
    std::map<std::pair<int, int>, double> link_free;
    for (const StepTimes::Transfer& transfer : times.transfers) {
      double& free = link_free[{transfer.from, transfer.to}];
      EXPECT_GE(transfer.start, free);
      if (!transfer.value.external) {
        EXPECT_GE(transfer.start, times.nodes[transfer.value.index].end);
      }
      last = std::max(last, free = transfer.end);
    }
    for (std::size_t i = 0; i < times.nodes.size(); ++i) {
      double& free = device_free[assignment[i]];
      EXPECT_GE(times.nodes[i].start, free);
      for (const CostValue& source : problem.nodes[i].sources) {
        if (!source.external && assignment[source.index] == assignment[i]) {
          EXPECT_GE(times.nodes[i].start, times.nodes[source.index].end);
        }
      }
      last = std::max(last, free = times.nodes[i].end);
    }
    EXPECT_EQ(last, seconds);
  }
}

TEST(Makespan, ImpossibleAssignmentTakesForever) {
  CostProblem problem = two_devices();
  problem.nodes = {{{1, kNever}, {}, 0}, {{1, 1}, {result(0)}, 0}};
  EXPECT_EQ(makespan(problem, {1, 0}), kNever);  // not supported
  EXPECT_EQ(makespan(problem, {0, 1}), 2);
  problem.links[1] = {kNever, 0};
  EXPECT_EQ(makespan(problem, {0, 1}), kNever);  // no way
  problem.links[1] = {0, kNever};
  EXPECT_EQ(makespan(problem, {0, 1}), kNever);  // not even for 0 bytes
  problem.links[1] = {0, 1};
  problem.nodes[1].pinned = 0;
  EXPECT_EQ(makespan(problem, {0, 1}), kNever);  // pinned elsewhere
  problem.nodes[1].pinned = -1;
  problem.nodes[0].group = problem.nodes[1].group = 7;
  EXPECT_EQ(makespan(problem, {0, 1}), kNever);  // a group apart
  EXPECT_EQ(makespan(problem, {0, 0}), 2);
}

}  // namespace
}  // namespace shunt::schedule_optimize_makespan_test
