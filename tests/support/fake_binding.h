// A binding of one launch for tests of streams, and the errors that its failures become.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "shunt/device.h"
#include "shunt/message.h"

namespace shunt::test {

/// A vendor code.
inline constexpr std::int64_t kAccess = 700;

/// One launch of a node. The tests choose its outcome.
struct FakeBinding final : Binding {
  explicit FakeBinding(std::string node_name) : node(std::move(node_name)) {}
  Status launch() {
    ++executed;
    if (code == 0) return ok();
    return fail(ErrorCode::kDevice, "the task failed").with_vendor({code, "as the test wants it"});
  }
  std::string node;
  std::int64_t code = 0;  ///< of the failure while it executes; 0: it succeeds
  bool refused = false;   ///< submitting it fails
  std::atomic<int> executed = 0;
};

inline void expect_error(const Status& status, std::int64_t code, const std::string& device,
                         const std::string& node) {
  ASSERT_FALSE(status);
  ASSERT_TRUE(status.error().vendor()) << status.error().message();
  EXPECT_EQ(status.error().vendor()->code, code);
  EXPECT_EQ(status.error().device(), device);
  EXPECT_EQ(status.error().node(), node);
}

/// Device a0 is lost with n1 under way.
inline void expect_loss(const Status& status) {
  expect_error(status, 79, "a0", "n1");
  if (!status && status.error().vendor()) {
    EXPECT_THAT(status.error().message(), ::testing::HasSubstr("fell off the bus"));
    EXPECT_EQ(status.error().vendor()->text, "gone");
  }
}

}  // namespace shunt::test
