// Memory hazards against their definition: two accesses conflict if they touch the same bytes and
// one of the two writes them.
#include "memory/hazards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace shunt::test::memory_hazards_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const int kMemory[2] = {};

Region bytes(std::size_t begin, std::size_t end, int memory = 0) {
  return {&kMemory[memory], begin, end};
}

/// The accesses that the last one of a list conflicts with.
std::vector<std::size_t> conflicts_of_last(const std::vector<Footprint>& accesses) {
  MemoryHazards hazards(accesses);
  for (std::size_t i = 0; i + 1 < accesses.size(); ++i) hazards.add(i);
  return hazards.last_conflicts(accesses.size() - 1);
}

TEST(MemoryHazards, ReadsWaitForWritesAndWritesForBoth) {
  const Footprint read{0, {bytes(0, 8)}, {}};
  const Footprint write{0, {}, {bytes(4, 12)}};
  EXPECT_THAT(conflicts_of_last({read, read, write}), ElementsAre(1));
  EXPECT_THAT(conflicts_of_last({write, read}), ElementsAre(0));
  EXPECT_THAT(conflicts_of_last({write, write}), ElementsAre(0));
  EXPECT_THAT(conflicts_of_last({write, read, {0, {bytes(0, 8)}, {}}}), ElementsAre(0));
}

TEST(MemoryHazards, AdjacentRangesDoNotConflict) {
  EXPECT_THAT(conflicts_of_last({{0, {}, {bytes(0, 8)}}, {0, {bytes(8, 16)}, {}}}), IsEmpty());
  EXPECT_THAT(conflicts_of_last({{0, {}, {bytes(0, 8)}}, {0, {bytes(0, 8, 1)}, {}}}), IsEmpty());
  EXPECT_THAT(conflicts_of_last({{0, {}, {bytes(0, 8)}}, {0, {bytes(4, 4)}, {}}}), IsEmpty());
}

TEST(MemoryHazards, IgnoresAccessesNotYetAdded) {
  const std::vector<Footprint> accesses(3, {0, {}, {bytes(0, 8)}});
  MemoryHazards hazards(accesses);
  EXPECT_THAT(hazards.last_conflicts(2), IsEmpty());
  hazards.add(0);
  EXPECT_THAT(hazards.last_conflicts(2), ElementsAre(0));
  hazards.add(1);
  EXPECT_THAT(hazards.last_conflicts(2), ElementsAre(1));
}

TEST(MemoryHazards, FindsTheLastConflictOfEachQueue) {
  EXPECT_THAT(conflicts_of_last({{7, {}, {bytes(0, 4)}},
                                 {7, {}, {bytes(4, 8)}},
                                 {3, {bytes(0, 1)}, {}},
                                 {3, {}, {bytes(9, 10)}},
                                 {5, {}, {bytes(0, 8)}}}),
              ElementsAre(2, 1));
}

TEST(MemoryHazards, IgnoresPerStepMemoryBetweenSteps) {
  const Region own{&kMemory[0], 0, 8, true};
  const std::vector<Footprint> accesses = {{0, {}, {own}}, {1, {own}, {}}};
  MemoryHazards all(accesses);
  MemoryHazards shared(accesses, MemoryHazards::Of::kShared);
  all.add(0);
  shared.add(0);
  EXPECT_THAT(all.last_conflicts(1), ElementsAre(0));
  EXPECT_THAT(shared.last_conflicts(1), IsEmpty());
}

TEST(MemoryHazards, RandomAccessesFollowTheDefinition) {
  std::mt19937 random(1);
  const auto regions = [&] {
    std::vector<Region> made;
    for (std::size_t i = random() % 4; i > 0; --i) {
      const std::size_t begin = random() % 40;
      made.push_back(bytes(begin, begin + random() % 6, static_cast<int>(random() % 2)));
    }
    return made;
  };
  const auto meet = [](const std::vector<Region>& a, const std::vector<Region>& b) {
    for (const Region& x : a) {
      for (const Region& y : b) {
        for (std::size_t byte = x.begin; byte < x.end; ++byte) {
          if (x.buffer == y.buffer && byte >= y.begin && byte < y.end) return true;
        }
      }
    }
    return false;
  };
  for (int turn = 0; turn < 50; ++turn) {
    std::vector<Footprint> accesses(30);
    for (Footprint& access : accesses)
      access = {static_cast<int>(random() % 3), regions(), regions()};
    MemoryHazards hazards(accesses);
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      std::map<int, std::size_t> last;
      for (std::size_t j = 0; j < i; ++j) {
        const bool conflict = meet(accesses[i].reads, accesses[j].writes) ||
                              meet(accesses[i].writes, accesses[j].writes) ||
                              meet(accesses[i].writes, accesses[j].reads);
        if (conflict) last[accesses[j].stream] = j;
      }
      std::vector<std::size_t> expected;
      for (const auto& [stream, j] : last) expected.push_back(j);
      EXPECT_THAT(hazards.last_conflicts(i), testing::UnorderedElementsAreArray(expected));
      hazards.add(i);
    }
  }
}

}  // namespace
}  // namespace shunt::test::memory_hazards_test
