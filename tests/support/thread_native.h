// A vendor's streams, each with a thread of its own. As WorldNativeStream, but in real time.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "support/native_queue.h"

namespace shunt::test {

class ThreadNativeStream : public NativeQueue {
 public:
  ThreadNativeStream();
  ~ThreadNativeStream() override;
  Result<std::unique_ptr<NativeEvent>> create_event(bool timed) override;
  Status record(NativeEvent& event) override;
  Result<bool> wait_for(NativeEvent& event) override;
  std::optional<NativeFailure> failure() override;
  Status recover() override;
  /// The work may be under way until stop().
  void submit(std::uint64_t task, double seconds, Work work) override;
  /// The device is lost: work that has not begun will never be done.
  void lose(const Error& error);
  /// Ends the thread after the work under way.
  void stop();

 private:
  void push(std::function<void()> work);
  void work_on();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::optional<NativeFailure> failure_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace shunt::test
