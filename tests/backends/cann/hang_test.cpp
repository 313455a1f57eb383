// Tasks of CANN devices that do not end: the device is lost after cann.timeout, and nothing waits
// for the task.
#include <gmock/gmock.h>

#include "backends/cann/cann_devices.h"

namespace shunt::test::cann_hang_test {
namespace {

using testing::HasSubstr;

class CannHang : public CannDevices, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    CannDevices::SetUp();
    if (!IsSkipped()) reopen({}, with("timeout", "1"));
  }
  void TearDown() override {
    if (twin_.there()) twin_.set("FAIL_HANG", "0");
    CannDevices::TearDown();
    if (twin_.there()) twin_.restart();
  }
};

/// In a run call by call, in one that is captured or replayed, and while a result is copied.
TEST_P(CannHang, LosesTheDeviceAfterTheTimeout) {
  const Rows rows;
  auto run = make_run(rows.graph, rows.leaves);
  ASSERT_NE(run, nullptr);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(error_of(run->plan().run()), "");
  lost_ = true;
  twin_.set("FAIL_HANG", std::to_string(GetParam()));
  const Status status = run->plan().run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().device(), "cann0");
  EXPECT_THAT(to_text(status.error()), HasSubstr("a task did not end within 1 s"));
  const auto frees = twin_.calls("aclrtFree"), destroyed = twin_.calls("aclrtDestroyStream");
  const Status again = run->plan().run();
  ASSERT_FALSE(again);
  EXPECT_THAT(to_text(again.error()), HasSubstr("a task did not end within 1 s"));
  EXPECT_FALSE(device().memory().allocate(64));
  run.reset();
  registry_.reset();
  EXPECT_EQ(twin_.calls("aclrtFree"), frees) << "it would wait for the task";
  EXPECT_EQ(twin_.calls("aclrtDestroyStream"), destroyed);
}

INSTANTIATE_TEST_SUITE_P(, CannHang, testing::Values(1, 2));

}  // namespace
}  // namespace shunt::test::cann_hang_test
