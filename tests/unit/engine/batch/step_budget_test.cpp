// Tokens of prompts that a step computes beside requests that generate.
#include "engine/batch/step_budget.h"

#include <gtest/gtest.h>

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

TEST(StepBudget, BeforeAnyMeasurementAFewTokens) {
  const StepBudget budget(0);
  EXPECT_EQ(budget.prompt_tokens(4, 512), 32);
  EXPECT_EQ(budget.prompt_tokens(4, 5), 5);
}

}  // namespace
}  // namespace shunt::test::engine_step_budget_test
