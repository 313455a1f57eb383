#include "backend_support/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace shunt::cpu::pool_test {
namespace {

/// Takes numbers and counts them. It is complete when run(0) returns, with or without other
/// workers.
class Counting final : public Task {
 public:
  Counting(Pool& pool, int count) : pool_(pool), hits_(static_cast<std::size_t>(count)) {}
  void run(int worker) override {
    inside.fetch_add(1);
    const auto count = static_cast<int>(hits_.size());
    for (int i = next_.fetch_add(1); i < count; i = next_.fetch_add(1)) {
      hits_[static_cast<std::size_t>(i)].fetch_add(1);
      if (done_.fetch_add(1) + 1 == count) done_.notify_all();
    }
    if (worker == 0) pool_.waiting().until(done_, count);
    inside.fetch_sub(1);
  }
  bool each_once() const {
    return std::all_of(hits_.begin(), hits_.end(), [](const auto& hit) { return hit.load() == 1; });
  }
  std::atomic<int> inside{0};

 private:
  Pool& pool_;
  std::atomic<int> next_{0};
  std::atomic<int> done_{0};
  std::vector<std::atomic<int>> hits_;
};

TEST(Pool, EveryItemRunsOnceAndNoWorkerStaysInside) {
  for (int threads : {1, 2, 3, 8}) {
    auto pool = Pool::create(threads);
    ASSERT_TRUE(pool) << pool.error().message();
    for (int run = 0; run < 300; ++run) {
      // The task is gone when the run returns: a late worker must not touch it.
      const auto task = std::make_unique<Counting>(**pool, run % 40);
      const auto lock = (*pool)->lock();
      (*pool)->run(*task);
      EXPECT_EQ(task->inside, 0);
      EXPECT_TRUE(task->each_once());
    }
  }
}

TEST(Pool, DoesNotWaitForSleepingThreads) {
  // More threads than any machine runs at once: most are asleep when the caller is done already.
  auto pool = Pool::create(200);
  ASSERT_TRUE(pool);
  const auto lock = (*pool)->lock();
  for (int run = 0; run < 50; ++run) {
    Counting task(**pool, 1);
    (*pool)->run(task);
    EXPECT_TRUE(task.each_once());
  }
}

TEST(Pool, RunsOfManyThreadsAreSerialized) {
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

TEST(Pool, ScratchIsPerThreadAndAligned) {
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
    // Its pages are its own, so that they can be where it runs.
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scratch) % page_size(), 0U);
    places.insert(scratch);
  }
  EXPECT_EQ(places.size(), 3U);
  for (const std::size_t too_much : {std::size_t{1} << 60, ~std::size_t{0}}) {
    const Status refused = (*pool)->reserve_scratch(too_much);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfMemory);
  }
  EXPECT_EQ((*pool)->scratch(1)[99], std::byte{1});  // the earlier contents are still there
}

TEST(Pool, CountsTheScratchOfAllThreads) {
  auto pool = Pool::create(3);
  ASSERT_TRUE(pool);
  EXPECT_EQ((*pool)->scratch_bytes(), 0U);
  ASSERT_TRUE(reserve_scratch(**pool, page_size() + 1));
  EXPECT_EQ((*pool)->scratch_bytes(), 3 * 2 * page_size());
  ASSERT_TRUE(reserve_scratch(**pool, 1));
  EXPECT_EQ((*pool)->scratch_bytes(), 3 * 2 * page_size());
  ASSERT_FALSE(reserve_scratch(**pool, ~std::size_t{0}));
  EXPECT_EQ((*pool)->scratch_bytes(), 3 * 2 * page_size());
}

}  // namespace
}  // namespace shunt::cpu::pool_test
