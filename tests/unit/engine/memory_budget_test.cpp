// Limits of devices after refusals of memory: which limit falls, how far, and when attempts end.
#include "engine/load/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_device.h"

namespace shunt::test::engine_memory_budget_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Two devices in front of one that stands for the CPU.
class MemoryBudgetTest : public ::testing::Test {
 protected:
  static Fit fit(std::uint64_t first, std::uint64_t second, bool overlap = false) {
    Fit fit;
    fit.planned.assign({first, second, 1000});
    fit.overlap = overlap;
    return fit;
  }
  static Error refusal(std::string_view device) {
    return Error(ErrorCode::kOutOfMemory, "no room").with_device(device);
  }
  /// The caps that a request gets.
  std::vector<std::uint64_t> caps(const MemoryBudget& budget) const {
    FitRequest request;
    request.limits.resize(devices_.size());
    budget.limit(request);
    std::vector<std::uint64_t> caps;
    for (const DeviceLimit& limit : request.limits) caps.push_back(limit.cap);
    return caps;
  }
  void note(const std::string& line) { lines_.push_back(line); }

  TestDevice first_{{.name = "test0"}};
  TestDevice second_{{.name = "test1"}};
  TestDevice cpu_{{.name = "test2"}};
  std::vector<Device*> all_ = {&first_, &second_, &cpu_};
  DeviceSet devices_{all_};
  std::vector<std::string> lines_;
};

TEST_F(MemoryBudgetTest, EachRefusalLowersTheLimitOfTheDeviceFurther) {
  MemoryBudget budget(devices_, MemoryBudget::For::kWeights);
  std::vector<std::uint64_t> seen;
  int attempts = 0;
  const Status status = budget.run(
      [&]() -> Status {
        seen.push_back(caps(budget)[0]);
        EXPECT_EQ(caps(budget)[1], kNoLimit);
        budget.plan(fit(std::min<std::uint64_t>(8000, seen.back()), 500));
        if (++attempts == 4) return ok();
        return refusal("test0");
      },
      [this](const std::string& line) { note(line); });
  EXPECT_TRUE(status);
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[0], kNoLimit);
  EXPECT_EQ(seen[1], lower_cap(8000, 0));
  EXPECT_EQ(seen[2], lower_cap(seen[1], 1));
  EXPECT_EQ(seen[3], lower_cap(seen[2], 2));
  ASSERT_EQ(lines_.size(), 3U);
  EXPECT_THAT(lines_[0], HasSubstr("test0: refused memory for weights out of 7.8 KiB"));
  EXPECT_EQ(budget.refusals(), lines_);
}

TEST_F(MemoryBudgetTest, RefusalsEndOnceADeviceGetsNothing) {
  MemoryBudget budget(devices_, MemoryBudget::For::kWeights);
  int attempts = 0;
  const Status status = budget.run(
      [&]() -> Status {
        ++attempts;
        budget.plan(fit(std::min<std::uint64_t>(1 << 20, caps(budget)[0]), 0));
        return refusal("test0");
      },
      [](const std::string&) {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(caps(budget)[0], 0U);
  EXPECT_LT(attempts, 50);
}

TEST_F(MemoryBudgetTest, LowersEachDeviceIfTheErrorNamesNone) {
  MemoryBudget budget(devices_, MemoryBudget::For::kWeights);
  int attempts = 0;
  const Status status = budget.run(
      [&]() -> Status {
        budget.plan(fit(100, 200));
        if (++attempts == 2) return ok();
        return Error(ErrorCode::kOutOfMemory, "no room");
      },
      [](const std::string&) {});
  EXPECT_TRUE(status);
  EXPECT_THAT(caps(budget), ElementsAre(lower_cap(100, 0), lower_cap(200, 0), kNoLimit));
}

TEST_F(MemoryBudgetTest, TheCpuAndOtherErrorsLowerNoLimit) {
  for (const Error& error : {refusal("test2"), refusal("another"),
                             Error(ErrorCode::kDevice, "gone").with_device("test0")}) {
    MemoryBudget budget(devices_, MemoryBudget::For::kWeights);
    int attempts = 0;
    const Status status = budget.run(
        [&]() -> Status {
          ++attempts;
          budget.plan(fit(100, 200));
          return error;
        },
        [this](const std::string& line) { note(line); });
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message(), error.message());
    EXPECT_EQ(attempts, 1);
  }
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(MemoryBudgetTest, AFitThatFailsAfterARefusalEndsTheAttempts) {
  MemoryBudget budget(devices_, MemoryBudget::For::kWeights);
  int attempts = 0;
  const Status status = budget.run(
      [&]() -> Status {
        if (++attempts > 1) return Error(ErrorCode::kOutOfMemory, "it fits nowhere");
        budget.plan(fit(100, 200));
        return refusal("test0");
      },
      [](const std::string&) {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "it fits nowhere");
  EXPECT_EQ(attempts, 2);
}

TEST_F(MemoryBudgetTest, TheFirstRefusalOfASessionEndsTheOverlapOfSteps) {
  MemoryBudget budget(devices_, MemoryBudget::For::kSession);
  int attempts = 0;
  const Status status = budget.run(
      [&]() -> Status {
        FitRequest request;
        request.limits.resize(devices_.size());
        budget.limit(request);
        EXPECT_EQ(request.may_overlap, attempts == 0);
        budget.plan(fit(100, 200, request.may_overlap));
        if (++attempts == 3) return ok();
        return refusal("test1");
      },
      [this](const std::string& line) { note(line); });
  EXPECT_TRUE(status);
  EXPECT_THAT(lines_,
              ElementsAre(HasSubstr("test1: refused memory for a session, so steps of a prompt do "
                                    "not overlap on any device"),
                          HasSubstr("test1: refused memory for a session out of 200")));
  EXPECT_THAT(caps(budget), ElementsAre(kNoLimit, lower_cap(200, 0), kNoLimit));
}

}  // namespace
}  // namespace shunt::test::engine_memory_budget_test
