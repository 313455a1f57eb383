// find_waits() against its definition, which compares every action with every other one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "schedule/plan/waits.h"

namespace shunt::test::schedule_waits_test {
namespace {

const void* buffer_at(std::size_t number) {
  return reinterpret_cast<const void*>(64 * (number + 1));  // only compared, never used
}

/// Whether two actions share a byte that one of them writes. Between steps only memory counts that
/// steps share.
bool conflict(const Footprint& a, const Footprint& b, bool between_steps) {
  const auto meet = [&](const std::vector<Region>& of_a, const std::vector<Region>& of_b) {
    for (const Region& x : of_a) {
      for (const Region& y : of_b) {
        const bool own = between_steps && (x.own || y.own);
        if (x.buffer == y.buffer && std::max(x.begin, y.begin) < std::min(x.end, y.end) && !own) {
          return true;
        }
      }
    }
    return false;
  };
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

/// The last action of each other stream in [begin, end) that conflicts with `action`, by falling
/// index.
std::vector<std::size_t> last_conflicts(std::span<const Footprint> actions, std::size_t action,
                                        std::size_t begin, std::size_t end, bool between_steps) {
  std::vector<std::size_t> found;
  std::set<int> streams = {actions[action].stream};
  for (std::size_t other = end; other-- > begin;) {
    if (streams.contains(actions[other].stream)) continue;
    if (!conflict(actions[other], actions[action], between_steps)) continue;
    found.push_back(other);
    streams.insert(actions[other].stream);
  }
  return found;
}

/// Of the step before: all actions up to the last one that conflicts with `action`, whatever its
/// stream, and at least those up to its own predecessor.
std::size_t submitted_before(std::span<const Footprint> actions, std::size_t action) {
  for (std::size_t other = actions.size(); other-- > action + 1;) {
    if (conflict(actions[other], actions[action], true)) return other + 1;
  }
  return action + 1;
}

std::vector<Region> any_regions(std::mt19937_64& random, std::size_t most) {
  constexpr std::size_t kBuffers = 3;
  constexpr std::size_t kBytes = 40;
  std::vector<Region> regions(random() % (most + 1));
  for (Region& region : regions) {
    const std::size_t buffer = random() % kBuffers;
    const std::size_t begin = random() % kBytes;
    const std::size_t bytes = random() % (random() % 4 == 0 ? kBytes : 8);  // 0, too
    region = {buffer_at(buffer), begin, begin + bytes, buffer == 0};
  }
  return regions;
}

TEST(WaitsByDefinition, MatchForRandomActions) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Footprint> actions(random() % 60);
    const int streams = 1 + static_cast<int>(random() % 4);
    for (Footprint& action : actions) {
      action.stream = static_cast<int>(random() % static_cast<std::size_t>(streams)) - 1;
      action.reads = any_regions(random, 4);
      action.writes = any_regions(random, 2);
    }
    const std::vector<Waits> waits = find_waits(actions);
    ASSERT_EQ(waits.size(), actions.size());
    for (std::size_t i = 0; i < actions.size(); ++i) {
      EXPECT_EQ(waits[i].same_step, last_conflicts(actions, i, 0, i, false)) << seed << " " << i;
      EXPECT_EQ(waits[i].step_before, last_conflicts(actions, i, i + 1, actions.size(), true))
          << seed << " " << i;
      EXPECT_EQ(waits[i].submitted_before, submitted_before(actions, i)) << seed << " " << i;
    }
    ASSERT_FALSE(HasFailure());
  }
}

TEST(WaitsByDefinition, MatchForABufferWrittenInPiecesByAllStreams) {
  constexpr std::size_t kPieces = 64;
  std::vector<Footprint> actions;
  for (std::size_t i = 0; i < kPieces; ++i) {
    actions.push_back({static_cast<int>(i % 3), {}, {{buffer_at(0), i, i + 1, false}}});
  }
  actions.push_back({3, {{buffer_at(0), 0, kPieces, false}}, {}});
  const auto waits = find_waits(actions);
  EXPECT_THAT(waits[0].same_step, testing::IsEmpty());
  EXPECT_THAT(waits[0].step_before, testing::ElementsAre(kPieces));
  EXPECT_THAT(waits[kPieces].same_step,
              testing::ElementsAre(kPieces - 1, kPieces - 2, kPieces - 3));
}

}  // namespace
}  // namespace shunt::test::schedule_waits_test
