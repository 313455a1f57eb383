// Faults of CANN devices: each one is an error or leaves the right result, and nothing stays
// allocated.
#include <gmock/gmock.h>

#include <algorithm>

#include "backends/cann/cann_devices.h"
#include "support/sanitized.h"

namespace shunt::test::cann_faults_test {
namespace {

/// From a number of an event to the next that is tried. There are few of some events.
constexpr int stride_at(int n) {
  constexpr int kFew = 10;
  return std::max(kSanitized && n > kFew ? 7 : 1, n / 20);
}
/// More than a start and four runs have of each event.
constexpr int kMost = 400;

/// A setting of the twin that makes a call fail.
struct Fault {
  const char* setting;
  bool may_fail = true;  ///< else it costs only speed
};

class CannFaultsAtEachCall : public CannDevices, public testing::WithParamInterface<Fault> {
 protected:
  /// The start of the backend and some runs. Those that end well have the right result.
  Status start_and_run(const Rows& rows, const std::vector<double>& expected) {
    open();
    const auto found = registry_->find("cann0");
    if (!found) return found.error();
    const std::vector<Device*> chosen = {*found, &device("cpu0")};
    SHUNT_ASSIGN(const auto run, GraphRun::create(rows.graph, chosen, rows.leaves));
    Status first = ok();
    for (int i = 0; i < 4; ++i) {
      const Status status = run->plan().run();
      if (!status) {
        if (first) first = status;
        continue;
      }
      SHUNT_ASSIGN(const RefTensor output, run->output(rows.result));
      for (std::size_t k = 0; k < expected.size(); ++k)
        EXPECT_NEAR(output.data[k], expected[k], 1e-5) << "run " << i;
    }
    return first;
  }
};

TEST_P(CannFaultsAtEachCall, GiveAnErrorOrTheRightResultAndLeaveNothingBehind) {
  const Rows rows;
  std::vector<double> expected;
  {
    const auto run = make_run(rows.graph, rows.leaves);
    ASSERT_EQ(error_of(run->plan().run()), "");
    expected = run->output(rows.result)->data;
  }
  registry_.reset();
  int failed = 0;
  bool last_is_ok = false;
  for (int n = 1; n < kMost; n += stride_at(n)) {
    twin_.restart();
    twin_.set(GetParam().setting, std::to_string(n));
    const Status status = start_and_run(rows, expected);
    registry_.reset();
    twin_.set(GetParam().setting, "0");
    SCOPED_TRACE(n);
    lost_ = std::string_view(GetParam().setting) == "FAIL_LOST";
    expect_nothing_left();
    ASSERT_FALSE(HasFailure());
    failed += status ? 0 : 1;
    if (!status) {
      EXPECT_NE(status.error().code(), ErrorCode::kInternal) << to_text(status.error());
    }
    last_is_ok = static_cast<bool>(status);
    if (!GetParam().may_fail) {
      EXPECT_EQ(error_of(status), "") << n;
    }
  }
  EXPECT_EQ(failed > 0, GetParam().may_fail);
  EXPECT_TRUE(last_is_ok) << "there are events beyond the last number";
  EXPECT_GT(twin_.count(AscendCount::kCaptures), 0U);
}

INSTANTIATE_TEST_SUITE_P(, CannFaultsAtEachCall,
                         testing::Values(Fault{"FAIL_DEVICE_MEMORY"}, Fault{"FAIL_HOST_MEMORY"},
                                         Fault{"FAIL_FIRST_PHASE"}, Fault{"FAIL_LAUNCH"},
                                         Fault{"FAIL_LATE"}, Fault{"FAIL_RESOURCE"},
                                         Fault{"FAIL_CAPTURE", false}, Fault{"FAIL_LOST"}),
                         [](const auto& test) {
                           return std::string(test.param.setting).substr(5);
                         });

}  // namespace
}  // namespace shunt::test::cann_faults_test
