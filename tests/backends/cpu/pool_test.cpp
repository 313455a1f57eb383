#include "backends/cpu/pool.h"

#include <gtest/gtest.h>

#include <set>

namespace shunt::cpu {
namespace {

/// Each worker passes a barrier many times; nobody may be a round ahead.
class Rounds final : public Task {
 public:
  Rounds(Pool& pool, int rounds)
      : pool_(pool), rounds_(rounds), at_(static_cast<std::size_t>(pool.threads())) {}
  void run(int worker) override {
    for (int round = 1; round <= rounds_; ++round) {
      at_[static_cast<std::size_t>(worker)].store(round);
      pool_.barrier().wait(pool_.threads(), pool_.spins());
      for (const auto& other : at_) {
        if (other.load() < round) torn.store(true);
      }
      pool_.barrier().wait(pool_.threads(), pool_.spins());
    }
    ran.fetch_add(1);
  }
  std::atomic<bool> torn{false};
  std::atomic<int> ran{0};

 private:
  Pool& pool_;
  int rounds_;
  std::vector<std::atomic<int>> at_;
};

TEST(Pool, EveryThreadRunsTheTaskAndNobodyPassesABarrierAlone) {
  for (int threads : {1, 2, 3, 8}) {
    auto pool = Pool::create(threads);
    ASSERT_TRUE(pool) << pool.error().message();
    for (int run = 0; run < 20; ++run) {
      Rounds task(**pool, 30);
      const auto lock = (*pool)->lock();
      (*pool)->run(task);
      EXPECT_EQ(task.ran, threads);
      EXPECT_FALSE(task.torn);
    }
  }
}

TEST(Pool, RunsFromManyThreadsQueue) {
  auto pool = Pool::create(2);
  ASSERT_TRUE(pool);
  std::atomic<int> inside{0};
  std::atomic<bool> together{false};
  class Alone final : public Task {
   public:
    Alone(std::atomic<int>& count, std::atomic<bool>& flag) : count_(count), flag_(flag) {}
    void run(int worker) override {
      if (worker != 0) return;
      if (count_.fetch_add(1) != 0) flag_.store(true);
      std::this_thread::yield();
      count_.fetch_sub(1);
    }

   private:
    std::atomic<int>& count_;
    std::atomic<bool>& flag_;
  };
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      Alone task(inside, together);
      for (int i = 0; i < 100; ++i) {
        const auto lock = (*pool)->lock();
        (*pool)->run(task);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_FALSE(together);
}

TEST(Pool, ScratchIsEachThreadsOwnAndAligned) {
  auto pool = Pool::create(3);
  ASSERT_TRUE(pool);
  const auto lock = (*pool)->lock();
  EXPECT_EQ((*pool)->scratch(0), nullptr);
  ASSERT_TRUE((*pool)->reserve_scratch(100));
  std::set<std::byte*> places;
  for (int worker = 0; worker < 3; ++worker) {
    std::byte* scratch = (*pool)->scratch(worker);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scratch) % 64, 0U);
    for (int i = 0; i < 100; ++i) scratch[i] = std::byte{1};
    places.insert(scratch);
  }
  EXPECT_EQ(places.size(), 3U);
  EXPECT_FALSE((*pool)->reserve_scratch(std::size_t{1} << 60));
}

}  // namespace
}  // namespace shunt::cpu
