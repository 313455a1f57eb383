// A timeline's judgement of a move, compared with timing everything again with makespan().
#include <gtest/gtest.h>

#include "schedule/place/optimize/makespan.h"
#include "schedule/place/optimize/timeline.h"
#include "unit/schedule/optimize_problems.h"

namespace shunt::schedule_optimize_timeline_test {
namespace {

constexpr double kRounding = 1e-12;

Assignment with_reads(const CostProblem& problem, Assignment assignment) {
  for (const CostRead& read : problem.final_reads) assignment.push_back(read.device);
  return assignment;
}

double exact(const CostProblem& problem, Assignment assignment) {
  assignment.resize(problem.nodes.size());
  return makespan(problem, assignment);
}

/// Some nodes from `first` on that could go to a device.
std::vector<std::uint32_t> draw_move(ProblemGenerator& generator, const CostTables& tables,
                                     const Assignment& assignment, std::size_t first,
                                     std::size_t device) {
  std::vector<std::uint32_t> moved;
  const std::size_t reach = std::size_t{1} << generator.below(6);
  for (std::size_t i = first; i < std::min(first + reach, tables.assigned_nodes()); ++i) {
    const bool elsewhere = assignment[i] != static_cast<int>(device);
    if (elsewhere && tables.allowed(i, device) && generator.below(3) != 0) {
      moved.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return moved;
}

TEST(OptimizeTimeline, LoadReturnsTheMakespan) {
  ProblemGenerator generator(11);
  for (int round = 0; round < 200; ++round) {
    const auto kind = static_cast<GraphKind>(round % 5);
    const CostProblem problem = generator.draw({kind, 1 + generator.below(80), 4});
    const Assignment start = generator.draw_start(problem);
    const CostTables tables(problem);
    const CostBounds bounds(tables);
    EXPECT_EQ(Timeline(tables, bounds).load(with_reads(problem, start)), makespan(problem, start));
  }
}

TEST(OptimizeTimeline, IncrementalMoveEqualsFullReevaluation) {
  ProblemGenerator generator(12);
  int better = 0;
  int tried = 0;
  for (int round = 0; round < 300; ++round) {
    const auto kind = static_cast<GraphKind>(round % 5);
    const CostProblem problem = generator.draw({kind, 5 + generator.below(60), 3});
    const CostTables tables(problem);
    const CostBounds bounds(tables);
    Timeline timeline(tables, bounds);
    double now = timeline.load(with_reads(problem, generator.draw_start(problem)));
    for (; timeline.position() < tables.assigned_nodes(); timeline.advance()) {
      for (std::size_t device = 0; device < tables.devices(); ++device) {
        Assignment after = timeline.assignment();
        const auto moved = draw_move(generator, tables, after, timeline.position(), device);
        if (moved.empty()) continue;
        for (std::uint32_t node : moved) after[node] = static_cast<int>(device);
        const double expected = exact(problem, after);
        const double judged = timeline.try_move(moved, static_cast<int>(device), kNever);
        // Paths that no move here has an influence on are not in it; they are no longer than
        // before.
        EXPECT_LE(judged, expected * (1 + kRounding));
        EXPECT_GE(std::max(judged, now), expected * (1 - kRounding));
        // A limit that is not reached changes nothing. A limit that is reached gives kNever.
        EXPECT_EQ(timeline.try_move(moved, static_cast<int>(device), judged), kNever);
        EXPECT_EQ(timeline.try_move(moved, static_cast<int>(device), judged * 1.001), judged);
        ++tried;
        if (expected < now) ++better;
        if (expected < now || generator.below(16) == 0) {
          timeline.accept();
          EXPECT_EQ(timeline.assignment(), after);
          now = expected;
        }
      }
    }
    EXPECT_EQ(exact(problem, timeline.assignment()), now);
  }
  EXPECT_GT(tried, 10000);
  EXPECT_GT(better, 500);
}

TEST(OptimizeTimeline, MovesOffTheCriticalPathRarelyShortenTheStep) {
  ProblemGenerator generator(13);
  int tried = 0;
  int shorter = 0;
  for (int round = 0; round < 100; ++round) {
    const auto kind = static_cast<GraphKind>(round % 5);
    const CostProblem problem = generator.draw({kind, 30, 3});
    const Assignment start = generator.draw_start(problem);
    const CostTables tables(problem);
    const CostBounds bounds(tables);
    Timeline timeline(tables, bounds);
    const double before = timeline.load(with_reads(problem, start));
    for (std::size_t node = 0; node < problem.nodes.size(); ++node) {
      if (timeline.longest_through(node) >= before * (1 - 1e-9)) continue;
      for (std::size_t device = 0; device < tables.devices(); ++device) {
        if (!tables.allowed(node, device)) continue;
        Assignment after = start;
        after[node] = static_cast<int>(device);
        if (makespan(problem, after) < before * (1 - kRounding)) ++shorter;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 1000);
  EXPECT_LT(shorter, tried / 100);
}

}  // namespace
}  // namespace shunt::schedule_optimize_timeline_test
