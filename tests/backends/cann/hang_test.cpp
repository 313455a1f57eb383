// Tasks of CANN devices that do not end: the device is lost after cann.timeout, and nothing waits
// for the task.
#include <gmock/gmock.h>

#include "backends/cann/cann_devices.h"

namespace shunt::test::cann_hang_test {
namespace {

using testing::HasSubstr;

struct Hanging {
  const char* name;
  int task;  ///< of a run that came twice before: a copy, a replay, a copy
  const char* graph = "on";
};

class CannHang : public CannDevices, public testing::WithParamInterface<Hanging> {
 protected:
  void SetUp() override {
    CannDevices::SetUp();
    if (IsSkipped()) return;
    Options options = with("timeout", "1");
    options.backend_options["cann"]["graph"] = GetParam().graph;
    reopen({}, options);
  }
  void TearDown() override {
    if (twin_.there()) twin_.set("FAIL_HANG", "0");
    CannDevices::TearDown();
    if (twin_.there()) twin_.restart();
  }
};

TEST_P(CannHang, LosesTheDeviceAfterTheTimeout) {
  const Rows rows;
  auto run = make_run(rows.graph, rows.leaves);
  ASSERT_NE(run, nullptr);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(error_of(run->plan().run()), "");
  lost_ = true;
  twin_.set("FAIL_HANG", std::to_string(GetParam().task));
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

INSTANTIATE_TEST_SUITE_P(, CannHang,
                         testing::Values(Hanging{"CopyOfAnInput", 1}, Hanging{"Replay", 2},
                                         Hanging{"CopyOfAResult", 3}, Hanging{"Launch", 2, "off"}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace shunt::test::cann_hang_test
