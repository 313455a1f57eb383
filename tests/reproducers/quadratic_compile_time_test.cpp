// The time to compile a plan grew with the square of the number of its segments: each action was
// compared with all others to find its waits. 400 layers on two devices took 7 s. Right since
// 59c6de0.
#include <gtest/gtest.h>

#include "schedule/plan/waits.h"

namespace shunt::test::quadratic_compile_time_test {
namespace {

/// Half a second. If all pairs are compared, it is most of an hour: longer than ctest waits.
TEST(FindWaits, DoesNotCompareAllPairsOfActions) {
  constexpr std::size_t kActions = 3200;
  constexpr std::size_t kStreams = 8;
  constexpr std::size_t kRegions =
      1000;                           // that each action writes, as a segment of many nodes does
  constexpr std::size_t kBytes = 64;  // of a region
  const char buffer = 0;
  std::vector<Footprint> actions(kActions);
  for (std::size_t i = 0; i < kActions; ++i) {
    actions[i].stream = static_cast<int>(i % kStreams);
    // Each stream has memory of its own.
    for (std::size_t region = 0; region < kRegions; ++region) {
      const std::size_t begin = kBytes * (i % kStreams * kRegions + region);
      actions[i].writes.push_back(
          {.buffer = &buffer, .begin = begin, .end = begin + kBytes, .own = true});
    }
  }
  // Only the last action reads memory of another stream: of the first one.
  actions.back().reads.push_back({.buffer = &buffer, .begin = 0, .end = 1});
  const std::vector<Waits> waits = find_waits(actions);
  ASSERT_EQ(waits.size(), kActions);
  for (std::size_t i = 0; i + 1 < kActions; ++i) ASSERT_TRUE(waits[i].same_step.empty()) << i;
  EXPECT_EQ(waits.back().same_step, std::vector<std::size_t>{kActions - kStreams});
}

}  // namespace
}  // namespace shunt::test::quadratic_compile_time_test
