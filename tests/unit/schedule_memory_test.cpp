#include <gtest/gtest.h>

#include <random>

#include "schedule/memory_planner.h"

namespace shunt {
namespace {

/// Largest sum of bytes that live at one time: no layout can be smaller.
std::size_t lower_bound(const std::vector<MemoryRequest>& requests, std::int64_t end) {
  std::size_t largest = 0;
  for (std::int64_t time = 0; time <= end; ++time) {
    std::size_t sum = 0;
    for (const MemoryRequest& request : requests) {
      if (request.first <= time && time <= request.last) sum += request.bytes;
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

TEST(MemoryPlanner, ThoseWhoNeverMeetShareAPlace) {
  const std::vector<MemoryRequest> requests = {{100, 0, 1}, {100, 2, 3}, {50, 1, 2}};
  const auto layout = plan_memory(requests, 1, 1000);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->block_bytes, (std::vector<std::size_t>{150}));
  EXPECT_EQ(layout->places[0].offset, layout->places[1].offset);
}

TEST(MemoryPlanner, NobodyWhoLivesAtTheSameTimeOverlaps) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<MemoryRequest> requests;
    for (int i = 0; i < 80; ++i) {
      const auto first = static_cast<std::int64_t>(random() % 60);
      requests.push_back(
          {random() % 3000, first, first + static_cast<std::int64_t>(random() % 10)});
    }
    const std::size_t max_block = round % 2 == 0 ? 1U << 20 : 4096;
    const auto layout = plan_memory(requests, 64, max_block);
    ASSERT_TRUE(layout);
    std::size_t total = 0;
    for (std::size_t bytes : layout->block_bytes) {
      EXPECT_LE(bytes, max_block);
      total += bytes;
    }
    EXPECT_GE(total, lower_bound(requests, 70));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const MemoryPlace& a = layout->places[i];
      if (requests[i].bytes == 0) continue;
      EXPECT_EQ(a.offset % 64, 0U);
      EXPECT_LE(a.offset + requests[i].bytes, layout->block_bytes[a.block]);
      for (std::size_t j = 0; j < i; ++j) {
        const MemoryPlace& b = layout->places[j];
        if (requests[j].bytes == 0 || a.block != b.block) continue;
        if (requests[i].last < requests[j].first || requests[j].last < requests[i].first) continue;
        EXPECT_TRUE(a.offset + requests[i].bytes <= b.offset ||
                    b.offset + requests[j].bytes <= a.offset);
      }
    }
  }
}

TEST(MemoryPlanner, OneThatIsTooLargeIsRefused) {
  const std::vector<MemoryRequest> requests = {{10, 0, 1}, {1001, 0, 1}};
  const auto layout = plan_memory(requests, 1, 1000);
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code(), ErrorCode::kOutOfMemory);
}

TEST(MemoryPlanner, NothingNeedsNothing) {
  const auto layout = plan_memory({}, 64, 1000);
  ASSERT_TRUE(layout);
  EXPECT_TRUE(layout->block_bytes.empty());
}

}  // namespace
}  // namespace shunt
