// Scratch of a segment: pieces share memory by lifetime, staging memory is behind them.
#include "backend_support/scratch_plan.h"

#include <gtest/gtest.h>

namespace shunt::test::backend_support_scratch_plan_test {
namespace {

TEST(ScratchPlan, PiecesWithDisjointLifetimesShareMemory) {
  ScratchPlan plan;
  const std::size_t first = plan.add(4096);
  plan.next();
  const std::size_t second = plan.add(4096);
  const auto layout = plan.lay_out(4096);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->offsets.at(first), layout->offsets.at(second));
  EXPECT_EQ(layout->bytes, 4096U);
}

TEST(ScratchPlan, PieceLivesUntilItsLastUse) {
  ScratchPlan plan;
  const std::size_t first = plan.add(4096);
  plan.next();
  const std::size_t second = plan.add(4096);
  plan.next();
  plan.use(first);
  const std::size_t third = plan.add(100);
  const auto layout = plan.lay_out(4096);
  ASSERT_TRUE(layout);
  EXPECT_NE(layout->offsets.at(first), layout->offsets.at(second));
  EXPECT_NE(layout->offsets.at(first), layout->offsets.at(third));
  EXPECT_EQ(layout->offsets.at(second), layout->offsets.at(third));
  EXPECT_EQ(layout->bytes, 2 * 4096U);
}

TEST(ScratchPlan, StagingIsTheAlignedMaximumOverNodes) {
  ScratchPlan plan;
  plan.stage(100);
  plan.next();
  plan.add(5000);
  plan.stage(4097);
  plan.next();
  plan.stage(10);
  const auto layout = plan.lay_out(4096);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->staging, 2 * 4096U);
  EXPECT_EQ(layout->bytes, 4 * 4096U);
}

TEST(ScratchPlan, EmptyPlanNeedsNoBytes) {
  const auto layout = ScratchPlan().lay_out(64);
  ASSERT_TRUE(layout);
  EXPECT_TRUE(layout->offsets.empty());
  EXPECT_EQ(layout->bytes, 0U);
}

}  // namespace
}  // namespace shunt::test::backend_support_scratch_plan_test
