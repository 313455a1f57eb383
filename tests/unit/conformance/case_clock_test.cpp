// Whether a case took too long, with a clock that only the test advances.
#include "conformance/case_clock.h"

#include <gtest/gtest.h>

namespace shunt::test::conformance_case_clock_test {
namespace {

class CaseClockTest : public testing::Test {
 protected:
  /// For the thread that watches time stands still: it sees no case that is late.
  std::function<double()> now() {
    return [this, test = std::this_thread::get_id()] {
      return std::this_thread::get_id() == test ? now_ : 0.0;
    };
  }
  bool is_late(CaseClock& clock, double seconds) {
    clock.begin();
    now_ += seconds;
    return clock.end();
  }

  double now_ = 0;
};

TEST_F(CaseClockTest, CaseIsLateAtItsEndWithoutAnyPoll) {
  CaseClock clock(CaseClock::Seconds(60), CaseClock::Seconds(10), nullptr, {}, now());
  EXPECT_FALSE(is_late(clock, 60));
  EXPECT_TRUE(is_late(clock, 60.5));
  EXPECT_FALSE(is_late(clock, 59));  // the next one begins anew
  EXPECT_TRUE(is_late(clock, 1e6));
}

TEST_F(CaseClockTest, WithoutALimitNothingIsLate) {
  CaseClock clock(CaseClock::Seconds(0), CaseClock::Seconds(10), nullptr, {}, now());
  EXPECT_FALSE(is_late(clock, 1e9));
}

TEST_F(CaseClockTest, CaseCancelledInTimeIsNotLate) {
  const std::atomic<bool> cancel{true};
  CaseClock clock(CaseClock::Seconds(60), CaseClock::Seconds(10), &cancel, {}, now());
  EXPECT_FALSE(is_late(clock, 59));
}

}  // namespace
}  // namespace shunt::test::conformance_case_clock_test
