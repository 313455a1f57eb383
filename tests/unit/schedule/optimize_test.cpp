// The second pass of placement against the truth: trying everything on small graphs, dynamic
// programming on chains.
#include <gtest/gtest.h>

#include <array>

#include "schedule/place/optimize/makespan.h"
#include "schedule/place/optimize/optimize.h"
#include "unit/schedule/optimize_problems.h"

namespace shunt::schedule_optimize_test {
namespace {

constexpr double kRounding = 1e-12;

/// The shortest makespan of all assignments of a small problem on three devices. Goes through them
/// node by node, with a timing of its own, and leaves out those whose first nodes alone take longer
/// than the best so far.
class TryEverything {
 public:
  explicit TryEverything(const CostProblem& problem) : problem_(problem) {}

  double best() {
    Times times{};
    for (auto& row : times.arrival) row.fill(-1);
    for (std::size_t i = 0; i < problem_.externals.size(); ++i) {
      times.arrival[kMostNodes + i][at(problem_.externals[i].device)] = 0;
    }
    assignment_.resize(problem_.nodes.size());
    next(0, times, 0);
    // Its timing is that of makespan().
    if (best_ < kNever) {
      EXPECT_EQ(makespan(problem_, best_assignment_), best_);
    }
    return best_;
  }

 private:
  static constexpr std::size_t kMostNodes = 10;
  static constexpr std::size_t kMostExternals = 2;
  static constexpr std::size_t kDevices = 3;
  struct Times {
    std::array<double, kDevices> device{};
    std::array<std::array<double, kDevices>, kDevices> link{};
    std::array<std::array<double, kDevices>, kMostNodes + kMostExternals> arrival{};
  };
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  double fetch(Times& times, const CostValue& value, std::size_t to) const {
    auto& arrival = times.arrival[value.external ? kMostNodes + value.index : value.index];
    if (arrival[to] < 0) {
      const std::size_t home =
          at(value.external ? problem_.externals[value.index].device : assignment_[value.index]);
      const std::size_t bytes = value.external ? problem_.externals[value.index].bytes
                                               : problem_.nodes[value.index].bytes;
      const CostLink& link = problem_.links[home * kDevices + to];
      arrival[to] = std::max(times.link[home][to], arrival[home]) +
                    (link.latency + static_cast<double>(bytes) * link.seconds_per_byte);
      times.link[home][to] = arrival[to];
    }
    return arrival[to];
  }

  bool allowed(std::size_t node, std::size_t device) const {
    const CostNode& its = problem_.nodes[node];
    if (its.seconds[device] == kNever || (its.pinned >= 0 && at(its.pinned) != device))
      return false;
    for (std::size_t other = 0; other < node && its.group >= 0; ++other) {
      if (problem_.nodes[other].group == its.group && at(assignment_[other]) != device)
        return false;
    }
    return true;
  }

  void next(std::size_t node, const Times& before, double end) {
    if (end >= best_) return;
    if (node == problem_.nodes.size()) {
      Times times = before;
      for (const CostRead& read : problem_.final_reads) {
        end = std::max(end, fetch(times, read.value, at(read.device)));
      }
      if (end >= best_) return;
      best_ = end;
      best_assignment_ = assignment_;
      return;
    }
    for (std::size_t device = 0; device < kDevices; ++device) {
      if (!allowed(node, device)) continue;
      Times times = before;
      double start = times.device[device];
      for (const CostValue& source : problem_.nodes[node].sources) {
        start = std::max(start, fetch(times, source, device));
      }
      const double finish = start + problem_.nodes[node].seconds[device];
      times.device[device] = times.arrival[node][device] = finish;
      assignment_[node] = static_cast<int>(device);
      next(node + 1, times, std::max(end, finish));
    }
  }

  const CostProblem& problem_;
  Assignment assignment_;
  double best_ = kNever;
  Assignment best_assignment_;
};

/// How far from the optimum, over many small graphs of all kinds.
struct Quality {
  int graphs = 0;
  int within_5_percent = 0;
  int optimal = 0;
  double mean_excess = 0;
  double worst_excess = 0;
};

Quality measure(int graphs, bool groups, const OptimizeLimits& limits) {
  ProblemGenerator generator(groups ? 22 : 21);
  Quality quality;
  for (int round = 0; round < graphs; ++round) {
    const auto kind = static_cast<GraphKind>(round % 5);
    CostProblem problem = generator.draw({kind, 2 + generator.below(9), 3, groups});
    if (groups && round % 2 == 0) problem.links[generator.below(9)].latency = kNever;
    const Assignment start = generator.draw_start(problem);
    const Optimized found = optimize(problem, start, limits);
    EXPECT_EQ(found.seconds, makespan(problem, found.assignment));
    EXPECT_LE(found.seconds, makespan(problem, start));
    const double best = TryEverything(problem).best();
    EXPECT_GE(found.seconds, best * (1 - kRounding));
    if (found.proven) {
      EXPECT_LE(found.seconds, best * (1 + kRounding));
    }
    const double excess = found.seconds / best - 1;
    ++quality.graphs;
    if (excess <= 0.05) ++quality.within_5_percent;
    if (excess <= kRounding) ++quality.optimal;
    quality.mean_excess += excess / graphs;
    quality.worst_excess = std::max(quality.worst_excess, excess);
  }
  testing::Test::RecordProperty("optimal", quality.optimal);
  testing::Test::RecordProperty("within_5_percent", quality.within_5_percent);
  return quality;
}

TEST(Optimize, SmallGraphsMatchExhaustiveSearch) {
  const Quality quality = measure(2000, false, {});
  EXPECT_GE(quality.within_5_percent, 0.99 * quality.graphs);
  EXPECT_GE(quality.optimal, 0.99 * quality.graphs);
  EXPECT_LE(quality.mean_excess, 0.001);
}

TEST(Optimize, GraphsWithPinsAndGroupsMatchExhaustiveSearch) {
  const Quality quality = measure(500, true, {});
  EXPECT_GE(quality.within_5_percent, 0.99 * quality.graphs);
  EXPECT_LE(quality.mean_excess, 0.001);
}

/// A width that holds a small part of the states, as large graphs get. Both searches have to be
/// good then.
TEST(Optimize, LocalSearchCompensatesForANarrowFrontier) {
  OptimizeLimits narrow;
  narrow.frontier_width = 2;
  const Quality quality = measure(500, false, narrow);
  EXPECT_GE(quality.within_5_percent, 0.95 * quality.graphs);
  narrow.kicks = 0;
  narrow.local_steps = 0;
  EXPECT_LT(measure(500, false, narrow).within_5_percent, quality.within_5_percent);
}

/// The shortest way through a chain: its nodes never overlap, so that after each node only its
/// device and end matter.
double chain_optimum(const CostProblem& problem) {
  const auto devices = static_cast<std::size_t>(problem.devices);
  const auto copy = [&](std::size_t bytes, std::size_t from, std::size_t to) {
    const CostLink& link = problem.links[from * devices + to];
    return from == to ? 0.0 : link.latency + static_cast<double>(bytes) * link.seconds_per_byte;
  };
  const CostExternal& input = problem.externals[0];
  std::vector<double> ends(devices, kNever);
  ends[static_cast<std::size_t>(input.device)] = 0;
  std::size_t bytes = input.bytes;
  for (const CostNode& node : problem.nodes) {
    std::vector<double> next(devices, kNever);
    for (std::size_t to = 0; to < devices; ++to) {
      for (std::size_t from = 0; from < devices; ++from) {
        next[to] = std::min(next[to], ends[from] + copy(bytes, from, to) + node.seconds[to]);
      }
    }
    ends = next;
    bytes = node.bytes;
  }
  double best = kNever;
  for (std::size_t from = 0; from < devices; ++from) {
    const auto host = static_cast<std::size_t>(problem.final_reads[0].device);
    best = std::min(best, ends[from] + copy(bytes, from, host));
  }
  return best;
}

TEST(Optimize, ChainsOf500NodesAreExact) {
  ProblemGenerator generator(23);
  for (int round = 0; round < 40; ++round) {
    const CostProblem problem = generator.draw({GraphKind::kChain, 500, 3});
    const Assignment start = generator.draw_start(problem);
    const double best = chain_optimum(problem);
    const Optimized found = optimize(problem, start);
    EXPECT_NEAR(found.seconds, best, best * kRounding);
    EXPECT_TRUE(found.proven);
    EXPECT_LE(found.seconds, makespan(problem, start));
  }
}

/// Every node in turn to where it ends first.
Assignment greedy(const CostProblem& problem) {
  CostProblem so_far = problem;
  so_far.nodes.clear();
  so_far.final_reads.clear();
  Assignment assignment;
  for (const CostNode& node : problem.nodes) {
    so_far.nodes.push_back(node);
    assignment.push_back(0);
    double best = kNever;
    int device = problem.devices - 1;
    for (int d = 0; d < problem.devices; ++d) {
      assignment.back() = d;
      const double end = makespan(so_far, assignment);
      if (end < best) {
        best = end;
        device = d;
      }
    }
    assignment.back() = device;
  }
  return assignment;
}

TEST(Optimize, IsNeverWorseThanTheStart) {
  ProblemGenerator generator(24);
  OptimizeLimits little;
  little.frontier_work = 1;
  little.local_steps = 100;
  for (int round = 0; round < 25; ++round) {
    const auto kind = static_cast<GraphKind>(round % 5);
    const CostProblem problem = generator.draw({kind, 1 + generator.below(150), 2 + round % 3});
    const Assignment all_cpu(problem.nodes.size(), problem.devices - 1);
    const Assignment good = optimize(problem, all_cpu).assignment;
    for (const Assignment& start :
         {all_cpu, generator.draw_start(problem), greedy(problem), good}) {
      const double before = makespan(problem, start);
      for (const OptimizeLimits& limits : {OptimizeLimits(), little}) {
        const Optimized found = optimize(problem, start, limits);
        EXPECT_LE(found.seconds, before);
        EXPECT_EQ(found.start_seconds, before);
        EXPECT_EQ(found.seconds, makespan(problem, found.assignment));
      }
    }
  }
}

TEST(Optimize, PinsAndGroupsAreKeptInLargeGraphsToo) {
  ProblemGenerator generator(25);
  for (int round = 0; round < 10; ++round) {
    const auto kind = static_cast<GraphKind>(round % 5);
    const CostProblem problem = generator.draw({kind, 200, 4, true});
    const Assignment start = generator.draw_start(problem);
    const Optimized found = optimize(problem, start);
    EXPECT_LT(found.seconds, makespan(problem, start));
    EXPECT_EQ(found.seconds, makespan(problem, found.assignment));  // kNever if one was broken
  }
}

TEST(Optimize, TheSameProblemGivesTheSameAssignment) {
  ProblemGenerator generator(26);
  for (int round = 0; round < 5; ++round) {
    const CostProblem problem = generator.draw({static_cast<GraphKind>(round), 120, 4});
    const Assignment start = generator.draw_start(problem);
    const Optimized once = optimize(problem, start);
    const Optimized again = optimize(problem, start);
    EXPECT_EQ(once.assignment, again.assignment);
    EXPECT_EQ(once.steps, again.steps);
  }
}

/// Work is counted, not timed: it grows with the size of the problem only as far as one look at
/// everything needs.
TEST(Optimize, WorkIsBounded) {
  ProblemGenerator generator(27);
  for (int kind = 0; kind < 5; ++kind) {
    const CostProblem problem = generator.draw({static_cast<GraphKind>(kind), 2000, 4});
    const OptimizeLimits limits;
    const Optimized found = optimize(problem, generator.draw_start(problem), limits);
    EXPECT_LE(found.steps, 2 * limits.frontier_work + limits.local_steps + 20'000);
  }
}

TEST(Optimize, RepairsAnInfeasibleStart) {
  CostProblem problem;
  problem.devices = 2;
  problem.links.assign(4, {0, 1});
  problem.nodes = {{{kNever, 1}, {}, 1}, {{1, 5}, {{false, 0}}, 1}};
  const Optimized found = optimize(problem, {0, 0});
  EXPECT_EQ(found.start_seconds, kNever);
  EXPECT_EQ(found.assignment, (Assignment{1, 0}));
  EXPECT_EQ(found.seconds, 3);
}

TEST(Optimize, InfeasibleProblemKeepsTheStart) {
  CostProblem problem;
  problem.devices = 2;
  problem.links.assign(4, {0, 1});
  problem.nodes = {{{kNever, kNever}, {}, 1}, {{1, 5}, {{false, 0}}, 1}};
  const Optimized found = optimize(problem, {1, 0});
  EXPECT_EQ(found.assignment, (Assignment{1, 0}));
  EXPECT_EQ(found.seconds, kNever);
}

TEST(Optimize, EmptyProblemTakesNoTime) {
  CostProblem problem;
  problem.devices = 1;
  problem.links.resize(1);
  EXPECT_EQ(optimize(problem, {}).seconds, 0);
}

/// Two halves that can run side by side should, though each alone is faster on device 0.
TEST(Optimize, SplitsParallelChainsOverDevicesWhenFaster) {
  CostProblem problem;
  problem.devices = 2;
  problem.links.assign(4, {0.1, 0});
  for (std::uint32_t i = 0; i < 8; ++i) {
    CostNode node{{1, 1.2}, {}, 1};
    if (i >= 2) node.sources = {{false, i - 2}};  // two chains, side by side
    problem.nodes.push_back(node);
  }
  EXPECT_NEAR(optimize(problem, Assignment(8, 0)).seconds, 4.8, 1e-9);
}

}  // namespace
}  // namespace shunt::schedule_optimize_test
