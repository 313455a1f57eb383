// Tokens of prompts that a step computes beside requests that generate.
#include "engine/batch/step_budget.h"

#include <gtest/gtest.h>

#include <cmath>

namespace shunt::test::engine_step_budget_test {
namespace {

TEST(StepBudget, WithoutGeneratingRequestsAPromptTakesWholeSteps) {
  StepBudget budget(0);
  EXPECT_EQ(budget.prompt_tokens(0, 512), 512);
  budget.observe(0, 512, 100);
  EXPECT_EQ(budget.prompt_tokens(0, 512), 512);
}

TEST(StepBudget, StepsTakeTwiceTheTimeOfGeneratingAlone) {
  StepBudget budget(0);
  for (int i = 0; i < 50; ++i) {
    budget.observe(8, 0, 0.1);
    budget.observe(8, 100, 0.1 + 100 * 0.002);
  }
  EXPECT_NEAR(static_cast<double>(budget.prompt_tokens(8, 512)), 0.1 / 0.002, 1);
}

TEST(StepBudget, ShortStepsMayTakeTwentyMilliseconds) {
  StepBudget budget(0);
  for (int i = 0; i < 50; ++i) {
    budget.observe(1, 0, 0.001);
    budget.observe(1, 50, 0.001 + 50 * 0.0001);
  }
  EXPECT_NEAR(static_cast<double>(budget.prompt_tokens(1, 512)), 0.019 / 0.0001, 2);
}

TEST(StepBudget, GivenIntervalIsObeyed) {
  StepBudget budget(0.5);
  for (int i = 0; i < 50; ++i) {
    budget.observe(4, 0, 0.1);
    budget.observe(4, 10, 0.1 + 10 * 0.01);
  }
  EXPECT_NEAR(static_cast<double>(budget.prompt_tokens(4, 512)), 40, 1);
}

TEST(StepBudget, PromptsNeverStandStill) {
  StepBudget budget(0);
  for (int i = 0; i < 50; ++i) {
    budget.observe(4, 0, 0.01);
    budget.observe(4, 1, 100);
  }
  EXPECT_EQ(budget.prompt_tokens(4, 512), 1);
  EXPECT_EQ(budget.prompt_tokens(4, 0), 1);
}

TEST(StepBudget, BeforeAnyPromptAFewTokens) {
  StepBudget budget(0);
  budget.observe(4, 0, 0.01);
  EXPECT_EQ(budget.prompt_tokens(4, 512), 32);
  EXPECT_EQ(budget.prompt_tokens(4, 5), 5);
}

/// Steps of a simulated device: a time for all tokens that are generated, one for each of a prompt.
/// Prompts never end, so only the budget makes steps without them. Returns the seconds of the last
/// step with a prompt.
double endless_prompts(StepBudget& budget, std::int64_t generating, double alone, double token,
                       int steps) {
  double last = 0;
  for (int i = 0; i < steps; ++i) {
    const std::int64_t prompt = budget.prompt_tokens(generating, 512);
    const double seconds = alone + static_cast<double>(prompt) * token;
    budget.observe(generating, prompt, seconds);
    if (prompt > 0) last = seconds;
  }
  return last;
}

TEST(StepBudget, PromptsFromTheStartLeaveTimeToMeasureAStepWithoutThem) {
  StepBudget budget(0);
  budget.observe(0, 500, 15);
  EXPECT_NEAR(endless_prompts(budget, 1, 0.2, 0.03, 20), 2 * 0.2, 0.03);
}

TEST(StepBudget, FollowsRequestsThatEndWhilePromptsGoOn) {
  StepBudget budget(0);
  endless_prompts(budget, 64, 0.1, 0.001, 100);
  EXPECT_NEAR(endless_prompts(budget, 1, 0.01, 0.001, 10), StepBudget::kLeast, 0.001);
}

TEST(StepBudget, PromptsGoOnBesideNumbersOfRequestsThatChange) {
  StepBudget budget(0);
  std::int64_t tokens = 0;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t generating = i % 2 == 0 ? 1 : 3;
    const std::int64_t prompt = budget.prompt_tokens(generating, 512);
    budget.observe(generating, prompt, 0.01 + 0.0001 * static_cast<double>(prompt));
    if (prompt > 0) ++tokens;
  }
  EXPECT_GT(tokens, 75) << "steps with a part of a prompt";
}

TEST(StepBudget, WithoutABoundNoStepIsMeasured) {
  StepBudget budget(INFINITY);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(budget.prompt_tokens(2, 512), 512);
    budget.observe(2, 512, 1);
  }
}

TEST(StepBudget, PromptsGoOnWithAClockThatStandsStill) {
  StepBudget budget(0);
  budget.observe(2, 0, 0);
  EXPECT_GT(budget.prompt_tokens(2, 512), 0);
}

TEST(StepBudget, FollowsADeviceThatBecomesSlower) {
  StepBudget budget(0);
  endless_prompts(budget, 8, 0.1, 0.001, 100);
  EXPECT_NEAR(endless_prompts(budget, 8, 0.2, 0.001, 16 * StepBudget::kOld), 2 * 0.2, 0.02);
}

}  // namespace
}  // namespace shunt::test::engine_step_budget_test
