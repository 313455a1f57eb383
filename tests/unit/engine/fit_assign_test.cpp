// Filling devices of given sizes, unit by unit. Device 2 is the CPU.
#include "engine/load/fit_assign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::test::engine_fit_assign_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kWeight = 100;
constexpr std::uint64_t kCache = 10;

/// Layers of a weight and a cache each, which every device can compute with.
class FitAssign : public ::testing::Test {
 protected:
  FitAssign() {
    for (std::size_t i = 0; i < 4; ++i) {
      FitLeaf weight;
      weight.info = &info_;
      weight.by_device.resize(3, {.bytes = kWeight, .can = true});
      FitLeaf cache;
      cache.cache = i;
      cache.by_device.resize(3, {.bytes = kCache, .can = true});
      units_.push_back({static_cast<std::int64_t>(i), {leaves_.size(), leaves_.size() + 1}});
      leaves_.push_back(weight);
      leaves_.push_back(cache);
    }
  }
  HomeAssignment assign(std::uint64_t first, std::uint64_t second) const {
    FitBounds bounds;
    bounds.used = used_;
    bounds.room = {first, second, 0};
    return assign_homes(leaves_, units_, bounds);
  }

  gguf::TensorInfo info_;
  std::vector<FitLeaf> leaves_;
  std::vector<FitUnit> units_;
  std::vector<bool> used_ = {true, true, true};
};

TEST_F(FitAssign, AssignsWholeLayersToTheFirstDeviceWithRoom) {
  const HomeAssignment all = assign(440, 0);
  EXPECT_THAT(all.homes, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_FALSE(all.short_of_room);
  const HomeAssignment some = assign(439, 109);
  EXPECT_THAT(some.homes, ElementsAre(0, 0, 0, 0, 0, 0, 2, 2));
  EXPECT_THAT(some.taken, ElementsAre(330, 0, 110));
  EXPECT_TRUE(some.short_of_room);
  EXPECT_THAT(assign(220, 110).homes, ElementsAre(0, 0, 0, 0, 1, 1, 2, 2));
}

TEST_F(FitAssign, FullDeviceGetsNoSmallerLayersLater) {
  leaves_[2].by_device[0].bytes = 1000;
  EXPECT_THAT(assign(500, 1000).homes, ElementsAre(0, 0, 1, 1, 1, 1, 1, 1));
}

TEST_F(FitAssign, CacheFollowsTheWeightsOfItsLayer) {
  leaves_[2].by_device[0].too_large = true;
  leaves_[4].by_device[0].can = false;
  EXPECT_THAT(assign(1000, 1000).homes, ElementsAre(0, 0, 1, 1, 1, 1, 0, 0));
  leaves_[3].for_speed = true;  // unless it is wanted where it is faster
  EXPECT_THAT(assign(1000, 1000).homes, ElementsAre(0, 0, 1, 0, 1, 1, 0, 0));
}

TEST_F(FitAssign, LoadedLayerKeepsItsDeviceOrMovesToTheCpu) {
  leaves_[6].there = 0;
  EXPECT_THAT(assign(110, 220).homes, ElementsAre(1, 1, 1, 1, 2, 2, 0, 0));
  EXPECT_THAT(assign(0, 1000).homes, ElementsAre(1, 1, 1, 1, 1, 1, 2, 2));
}

TEST_F(FitAssign, PinnedLeafIsPlacedEvenWithoutRoom) {
  leaves_[4].fixed = true;
  leaves_[4].wanted = 1;
  EXPECT_THAT(assign(1000, 0).homes, ElementsAre(0, 0, 0, 0, 1, 2, 0, 0));
}

TEST_F(FitAssign, UnusedDeviceGetsNothing) {
  used_ = {false, true, true};
  const HomeAssignment without = assign(1000, 1000);
  EXPECT_THAT(without.homes, ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_FALSE(without.short_of_room) << "it was left out on purpose";
}

}  // namespace
}  // namespace shunt::test::engine_fit_assign_test
