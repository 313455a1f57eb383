// For the tests of the runtime and of memory: functions of the newer layout, tensors that fail, and
// a second device or thread.
#pragma once

#include <functional>
#include <thread>

#include "capture_support.h"

namespace ascend_test {

/// Runs the body on another thread, which has no context at first.
inline void on_thread(const std::function<void()>& body) {
  std::thread(body).join();
}

/// A copy of freed memory: it is submitted well and fails in its turn, with 507015.
inline void submit_failure(aclrtStream stream) {
  void* gone = nullptr;
  ASSERT_EQ(aclrtMalloc(&gone, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  Buffer to(64);
  ASSERT_EQ(aclrtFree(gone), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(to.address(), 64, gone, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream),
            ACL_SUCCESS);
}

/// Of the current device.
inline std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
  return free;
}

/// Pinned memory of the host.
class Pinned {
 public:
  explicit Pinned(std::size_t bytes) {
    EXPECT_EQ(aclrtMallocHost(&address_, bytes), ACL_SUCCESS);
    std::memset(address_, 0, bytes);
  }
  ~Pinned() { aclrtFreeHost(address_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  template <class Value>
  Value* as() const {
    return static_cast<Value*>(address_);
  }
  void* address() const { return address_; }

 private:
  void* address_ = nullptr;
};

/// Whether the reason of the thread's last refusal has these words.
inline testing::AssertionResult refused_with(const std::string& words) {
  const std::string said = ascend_twin_last_message();
  if (said.find(words) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the last message is \"" << said << "\"";
}

}  // namespace ascend_test
