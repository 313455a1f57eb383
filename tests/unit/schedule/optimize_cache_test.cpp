// Searches for assignments that were made before.
#include "schedule/place/optimize/optimize_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "shunt/costs.h"
#include "shunt/plan.h"
#include "support/products.h"
#include "support/test_device.h"

namespace shunt::test::schedule_optimize_cache_test {
namespace {

CostProblem problem(double seconds) {
  CostProblem made;
  made.devices = 2;
  made.nodes.push_back({.seconds = {seconds, 2 * seconds}, .sources = {}, .bytes = 4});
  made.links.resize(4);
  return made;
}

/// Counts searches; an assignment "found" is that of the start, and its seconds those of the
/// node on the first device.
class Counted {
 public:
  OptimizeCache::Search search() {
    return [this](const CostProblem& problem, const Assignment& start) {
      ++searches_;
      return Optimized{.assignment = start, .seconds = problem.nodes[0].seconds[0]};
    };
  }
  int searches() const { return searches_; }

 private:
  std::atomic<int> searches_ = 0;
};

TEST(OptimizeCache, SearchesEachProblemOnce) {
  Counted counted;
  OptimizeCache cache(counted.search());
  EXPECT_EQ(cache.optimize(problem(1), {0}).seconds, 1);
  EXPECT_EQ(cache.optimize(problem(2), {0}).seconds, 2);
  EXPECT_EQ(cache.optimize(problem(1), {0}).seconds, 1);
  EXPECT_EQ(counted.searches(), 2);
}

TEST(OptimizeCache, AnyChangedFieldIsACacheMiss) {
  Counted counted;
  OptimizeCache cache(counted.search());
  std::vector<CostProblem> others(9, problem(1));
  others[1].nodes[0].seconds[1] = 3;
  others[2].nodes[0].bytes = 5;
  others[3].nodes[0].pinned = 1;
  others[4].nodes[0].group = 0;
  others[5].links[1].latency = 1;
  others[6].externals.push_back({0, 4});
  others[7].final_reads.push_back({{false, 0}, 1});
  others[8].nodes[0].sources.push_back({true, 0});
  for (const CostProblem& other : others) cache.optimize(other, {0});
  EXPECT_EQ(counted.searches(), 9);
  EXPECT_EQ(cache.optimize(others[0], {1}).assignment, Assignment{1});
  EXPECT_EQ(counted.searches(), 10);
}

TEST(OptimizeCache, EvictsTheLeastRecentlyUsedResult) {
  Counted counted;
  OptimizeCache cache(counted.search(), 2);
  cache.optimize(problem(1), {0});
  cache.optimize(problem(2), {0});
  cache.optimize(problem(1), {0});
  cache.optimize(problem(3), {0});  // in place of 2
  EXPECT_EQ(counted.searches(), 3);
  cache.optimize(problem(1), {0});
  EXPECT_EQ(counted.searches(), 3);
  cache.optimize(problem(2), {0});
  EXPECT_EQ(counted.searches(), 4);
}

TEST(OptimizeCache, ManyThreadsGetTheirOwnResults) {
  Counted counted;
  OptimizeCache cache(counted.search(), 3);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const double seconds = 1 + (t + i) % 5;
        if (cache.optimize(problem(seconds), {0}).seconds != seconds) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(OptimizeCache, PlacingTheSameGraphAgainHitsTheCache) {
  TestDevice device({.name = "test0"});
  TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  const std::vector<Device*> devices = {&device, &host};
  const Graph graph = products({{DType::kF32, 4}});
  const CostModel estimates;
  Counted counted;
  OptimizeCache cache(counted.search());
  const PlaceOptions options{.costs = &estimates, .searches = &cache};
  ASSERT_TRUE(place(graph, devices, options));
  EXPECT_EQ(counted.searches(), 1);
  ASSERT_TRUE(place(graph, devices, options));
  EXPECT_EQ(counted.searches(), 1);
}

TEST(OptimizeCache, DefaultSearchReturnsTheOptimum) {
  OptimizeCache cache;
  const Optimized found = cache.optimize(problem(1), {1});
  EXPECT_EQ(found.assignment, Assignment{0});
  EXPECT_EQ(found.seconds, 1);
}

}  // namespace
}  // namespace shunt::test::schedule_optimize_cache_test
