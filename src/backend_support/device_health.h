// Whether a device is lost. All streams of a device share one object.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "shunt/error.h"
#include "shunt/message.h"

namespace shunt {

/// Thread-safe.
class DeviceHealth {
 public:
  static constexpr std::chrono::milliseconds kForever = std::chrono::years(10);

  /// `timeout`: how long a task may last before the device counts as lost.
  explicit DeviceHealth(std::string device, std::chrono::milliseconds timeout = kForever,
                        std::function<void()> on_loss = {})
      : device_(std::move(device)), timeout_(timeout), on_loss_(std::move(on_loss)) {}
  const std::string& device() const { return device_; }
  std::chrono::milliseconds timeout() const { return timeout_; }
  bool is_lost() const { return is_lost_; }
  /// The error of a lost device: always the first one given to lose().
  Status check() const {
    if (!is_lost_) return ok();
    const std::lock_guard lock(mutex_);
    return Error(*lost_);
  }
  void lose(const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      if (lost_) return;
      lost_ = Error(error).with_device(device_).with_context("the device is lost");
      is_lost_ = true;
    }
    if (on_loss_) on_loss_();
  }
  /// A task lasts longer than the timeout.
  void lose_hung() {
    lose_hung(fail(ErrorCode::kDevice, "a task did not end within {} s",
                   static_cast<double>(timeout_.count()) / 1000));
  }
  /// Its work may never end, for this reason.
  void lose_hung(const Error& error) {
    is_hung_ = true;
    lose(error);
  }
  /// Whether it was lost by lose_hung(): calls for it may block.
  bool is_hung() const { return is_hung_; }

 private:
  std::string device_;
  std::chrono::milliseconds timeout_;
  std::function<void()> on_loss_;
  mutable std::mutex mutex_;
  std::optional<Error> lost_;
  std::atomic<bool> is_lost_ = false;
  std::atomic<bool> is_hung_ = false;
};

}  // namespace shunt
