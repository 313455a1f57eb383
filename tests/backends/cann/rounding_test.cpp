// The errors that a CANN device gives for its numbers: checks allow results as much more, so that
// too large ones would make them void.
#include <gmock/gmock.h>

#include <algorithm>

#include "backends/cann/cann_devices.h"
#include "conformance/cases.h"
#include "conformance/op_case.h"
#include "ops/list.h"

namespace shunt::test::cann_rounding_test {
namespace {

class CannRounding : public CannDevices {
 protected:
  /// The largest rounding error of cases that the device computes.
  double largest() const {
    double largest = 0;
    for (const Op* op : all_ops()) {
      std::size_t count = 0;
      each_case(*op, [&](const Case& each) {
        if (count++ % 7 != 0) return;
        const auto made = OpCase::create(*op, each);
        ASSERT_TRUE(made) << each.name;
        if (!device().supports(made->graph(), made->node())) return;
        largest = std::max(largest, device().rounding_error(made->graph(), made->node()));
      });
    }
    return largest;
  }
};

/// Errors are squares relative to the result's: a check notices a result that is wrong by 5%
/// where BF16 rounds (8 bits), and by 1% where only F16 does (11 bits).
TEST_F(CannRounding, LetsChecksNoticeWrongResults) {
  const auto expect_between_0_and = [this](double most) {
    const double error = largest();
    EXPECT_GT(error, 0);
    EXPECT_LT(error, most);
  };
  expect_between_0_and(0.05 * 0.05);
  for (const char* profile : {"310p", "310b"}) {
    reopen({{"PROFILE", profile}}, with("matmul", "f16"));
    expect_between_0_and(0.01 * 0.01);
  }
}

}  // namespace
}  // namespace shunt::test::cann_rounding_test
