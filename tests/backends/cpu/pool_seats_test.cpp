#include "backend_support/seats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "backend_support/pool.h"
#include "base/cpu_affinity.h"

namespace shunt::cpu::pool_seats_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Cores of one hardware thread each; which third cache and NUMA node each has.
CpuTopology cores(std::vector<int> caches, std::vector<int> nodes) {
  CpuTopology topology;
  for (std::size_t i = 0; i < caches.size(); ++i) {
    topology.cores.push_back({{static_cast<int>(i)}, nodes[i], caches[i]});
  }
  return topology;
}

TEST(PoolSeats, FillTheCoresInOrder) {
  const CpuTopology topology = cores({0, 0, 1, 1}, {0, 0, 0, 0});
  EXPECT_THAT(seats(topology, 3, PinThreads::kOn),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  CpuTopology wide;
  wide.cores = {{{0, 4}, 0, 0}, {{1, 5}, 0, 0}};  // all hardware threads of a core
  EXPECT_THAT(seats(wide, 2, PinThreads::kOn), ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5)));
}

TEST(PoolSeats, BindNothingForOffOneThreadOrTooManyThreads) {
  const CpuTopology topology = cores({0, 1}, {0, 1});
  EXPECT_THAT(seats(topology, 2, PinThreads::kOff), IsEmpty());
  EXPECT_THAT(seats(topology, 1, PinThreads::kOn), IsEmpty());
  EXPECT_THAT(seats(topology, 3, PinThreads::kOn), IsEmpty());
  EXPECT_THAT(seats(CpuTopology{}, 2, PinThreads::kOn), IsEmpty());
  EXPECT_THAT(seats(CpuTopology{}, 2, PinThreads::kAuto), IsEmpty());
}

TEST(PoolSeats, AutoBindsOnlyWithAThreadPerCoreOfSeveralCachesOrNodes) {
  EXPECT_EQ(seats(cores({0, 1}, {0, 0}), 2, PinThreads::kAuto).size(), 2U);
  EXPECT_EQ(seats(cores({0, 0}, {0, 1}), 2, PinThreads::kAuto).size(), 2U);
  EXPECT_THAT(seats(cores({0, 0}, {0, 0}), 2, PinThreads::kAuto), IsEmpty());
  // Another program may have the rest, or the same ones.
  EXPECT_THAT(seats(cores({0, 1, 2}, {0, 0, 0}), 2, PinThreads::kAuto), IsEmpty());
}

/// Notes where each thread may run; the caller waits for all to come.
class Places final : public Task {
 public:
  explicit Places(int threads) : places(static_cast<std::size_t>(threads)) {}
  void run(int worker) override {
    places[static_cast<std::size_t>(worker)] = this_threads_processors();
    came_.fetch_add(1);
    came_.notify_all();
    const auto all = static_cast<int>(places.size());
    for (int seen = came_.load(); worker == 0 && seen < all; seen = came_.load()) came_.wait(seen);
  }
  std::vector<std::vector<int>> places;

 private:
  std::atomic<int> came_{0};
};

std::vector<std::vector<int>> places_of(Pool& pool) {
  Places places(pool.threads());
  const auto lock = pool.lock();
  pool.run(places);
  return places.places;
}

TEST(PoolSeats, WorkersAreBoundAndTheCallerIsNot) {
  const std::vector<int> before = this_threads_processors();
  ASSERT_FALSE(before.empty());
  CpuTopology topology;  // two places that every machine has
  topology.cores = {{{before.front()}, 0, 0}, {{before.back()}, 0, 0}};
  auto pinned = Pool::create(2, topology, PinThreads::kOn);
  ASSERT_TRUE(pinned);
  EXPECT_TRUE((*pinned)->pinned());
  EXPECT_THAT(places_of(**pinned), ElementsAre(before, ElementsAre(before.back())));
  auto loose = Pool::create(2, topology, PinThreads::kOff);
  ASSERT_TRUE(loose);
  EXPECT_FALSE((*loose)->pinned());
  EXPECT_THAT(places_of(**loose), ElementsAre(before, before));
}

TEST(PoolSeats, MissingCoreIsIgnored) {
  CpuTopology topology;
  topology.cores = {{{60000}, 0, 0}, {{60001}, 0, 0}};
  auto pool = Pool::create(2, topology, PinThreads::kOn);
  ASSERT_TRUE(pool);
  EXPECT_EQ(places_of(**pool)[1], this_threads_processors());
}

}  // namespace
}  // namespace shunt::cpu::pool_seats_test
