// Threads of the CPU that several backends share, and work that they take item by item.
#include "backend_support/cpu_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "device/shared_parts.h"

namespace shunt::test::backend_support_cpu_threads_test {
namespace {

using testing::HasSubstr;

Options of_registry(int threads) {
  Options options;
  options.threads = threads;
  options.shared = std::make_shared<SharedParts>();
  return options;
}

/// The pool has as many threads as the options say, not twice that.
TEST(SharedPool, IsSharedByTheBackendsOfARegistry) {
  const Options options = of_registry(3);
  const auto blas = share_cpu_threads(options);
  const auto cpu = share_cpu_threads(options);
  ASSERT_TRUE(blas && cpu);
  EXPECT_EQ(blas->get(), cpu->get());
  EXPECT_EQ((*blas)->pool->threads(), 3);
}

TEST(SharedPool, IsNotSharedByDevicesOfSeveralRegistries) {
  const Options one = of_registry(2);
  const Options other = of_registry(2);
  const auto first = share_cpu_threads(one);
  const auto second = share_cpu_threads(other);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->get(), second->get());
  EXPECT_EQ(share_cpu_threads(one)->get(), first->get());
  EXPECT_EQ(share_cpu_threads(other)->get(), second->get());
  const Options none = [] {
    Options options;
    options.threads = 2;
    return options;
  }();
  EXPECT_NE(share_cpu_threads(none)->get(), share_cpu_threads(one)->get());
}

TEST(SharedPool, DiffersForOtherSettings) {
  Options options = of_registry(2);
  const auto two = share_cpu_threads(options);
  options.threads = 1;
  const auto one = share_cpu_threads(options);
  EXPECT_NE(one->get(), two->get());
  options.threads = 2;
  options.pin_threads = PinThreads::kOn;
  EXPECT_NE(share_cpu_threads(options)->get(), two->get());
}

TEST(SharedPool, IsReusedAfterAUserIsGone) {
  const Options options = of_registry(2);
  const auto cpu = share_cpu_threads(options);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cpu->get(), share_cpu_threads(options)->get());
}

TEST(SharedPool, EndsWithItsLastUser) {
  const Options options = of_registry(2);
  std::weak_ptr<CpuThreads> gone;
  {
    const auto cpu = share_cpu_threads(options);
    ASSERT_TRUE(cpu);
    gone = *cpu;
  }
  EXPECT_TRUE(gone.expired());
  EXPECT_TRUE(share_cpu_threads(options)) << "it starts new ones";
}

TEST(SharedPool, InvalidThreadCountIsAnError) {
  for (const int count : {-1, 1025}) {
    Options options;
    options.threads = count;
    const auto threads = share_cpu_threads(options);
    ASSERT_FALSE(threads);
    EXPECT_EQ(threads.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(threads.error().message(), HasSubstr("expected 1 to 1024"));
  }
}

TEST(PoolItems, RunOnceEachWithTheScratchOfTheirThread) {
  for (const int threads : {1, 3}) {
    const auto pool = Pool::create(threads);
    ASSERT_TRUE(pool);
    ASSERT_TRUE(reserve_scratch(**pool, 100));
    std::vector<std::atomic<int>> done(1000);
    std::atomic<int> strange = 0;
    const auto work = [&](std::int64_t item, std::byte* scratch) {
      ++done[static_cast<std::size_t>(item)];
      bool known = false;
      for (int worker = 0; worker < threads; ++worker) {
        known |= scratch == (*pool)->scratch(worker);
      }
      if (!known) ++strange;
    };
    ASSERT_TRUE(for_each_item(**pool, 1000, work));
    for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
    EXPECT_EQ(strange, 0);
    EXPECT_TRUE(for_each_item(**pool, 0, work));
  }
}

/// How many threads take items: each stays with its first one until as many have come as may.
int threads_that_take(Pool& pool, int most, int expected) {
  std::atomic<int> inside = 0;
  const auto work = [&](std::int64_t, std::byte*) {
    ++inside;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (inside < expected && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  };
  EXPECT_TRUE(for_each_item(pool, expected, work, most));
  return inside;
}

TEST(PoolItems, RunOnAtMostTheAllowedThreads) {
  const auto pool = Pool::create(3);
  ASSERT_TRUE(pool);
  std::mutex mutex;
  for (const int most : {1, 2, 3, 0, 9}) {
    const int allowed = most == 0 ? 3 : std::min(most, 3);
    EXPECT_EQ((*pool)->threads_of(most), allowed);
    EXPECT_EQ(threads_that_take(**pool, most, allowed), allowed) << "all of them come";
    std::set<std::thread::id> seen;
    for (int round = 0; round < 50; ++round) {
      const auto work = [&](std::int64_t, std::byte*) {
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
      };
      ASSERT_TRUE(for_each_item(**pool, 20, work, most));
    }
    EXPECT_LE(seen.size(), static_cast<std::size_t>(allowed)) << most;
    EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
  }
}

/// A thread of the pool would wait for itself.
TEST(PoolItems, CannotBeSubmittedFromWithinAnItem) {
  const auto pool = Pool::create(2);
  ASSERT_TRUE(pool);
  Status inner;
  Status reserved;
  const auto work = [&](std::int64_t, std::byte*) {
    inner = for_each_item(**pool, 1, [](std::int64_t, std::byte*) {});
    reserved = reserve_scratch(**pool, 1);
  };
  ASSERT_TRUE(for_each_item(**pool, 1, work));
  for (const Status& status : {inner, reserved}) {
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), HasSubstr("can't compile or run a plan"));
  }
}

}  // namespace
}  // namespace shunt::test::backend_support_cpu_threads_test
