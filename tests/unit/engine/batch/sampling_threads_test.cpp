// Work that is divided among threads that sleep between steps.
#include "engine/batch/sampling_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace shunt::test::engine_sampling_threads_test {
namespace {

constexpr std::size_t kLarge = std::size_t{1} << 20;  // of a call: worth a thread

TEST(SamplingThreads, CallEachNumberOnce) {
  for (const int most : {0, 1, 2, 5}) {
    SamplingThreads threads(most);
    for (const std::size_t count : {0, 1, 2, 3, 64, 1000}) {
      for (const std::size_t size : {std::size_t{1}, kLarge}) {
        std::vector<std::atomic<int>> calls(count);
        threads.run(count, size, [&](std::size_t i) { ++calls[i]; });
        for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(calls[i], 1) << i << " of " << count;
      }
    }
  }
}

TEST(SamplingThreads, ManyShortRunsFollowEachOther) {
  SamplingThreads threads(4);
  std::int64_t sum = 0;
  for (int run = 0; run < 2000; ++run) {
    std::vector<int> made(8);
    threads.run(made.size(), kLarge, [&](std::size_t i) { made[i] = run; });
    for (const int each : made) sum += each;
  }
  EXPECT_EQ(sum, 8 * 1999 * 2000 / 2);
}

/// Each call waits until as many are under way.
TEST(SamplingThreads, LargeCallsRunTogether) {
  constexpr std::size_t kTogether = 3;
  SamplingThreads threads(kTogether);
  std::atomic<std::size_t> arrived = 0;
  threads.run(kTogether, kLarge, [&](std::size_t) {
    ++arrived;
    while (arrived < kTogether) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, kTogether);
}

TEST(SamplingThreads, LittleWorkStaysOnTheCallersThread) {
  SamplingThreads threads(4);
  std::set<std::thread::id> ids;
  threads.run(20, 100, [&](std::size_t) { ids.insert(std::this_thread::get_id()); });
  EXPECT_EQ(ids, std::set<std::thread::id>{std::this_thread::get_id()});
}

}  // namespace
}  // namespace shunt::test::engine_sampling_threads_test
