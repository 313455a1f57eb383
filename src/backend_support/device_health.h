// Whether a device is lost. All streams of a device share one object.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "shunt/error.h"

namespace shunt {

/// Thread-safe.
class DeviceHealth {
 public:
  explicit DeviceHealth(std::string device) : device_(std::move(device)) {}
  const std::string& device() const { return device_; }
  /// The error of a lost device: always the first one given to lose().
  Status check() const {
    const std::lock_guard lock(mutex_);
    return lost_ ? Status(Error(*lost_)) : ok();
  }
  void lose(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!lost_) lost_ = Error(error).with_device(device_).with_context("the device is lost");
  }

 private:
  std::string device_;
  mutable std::mutex mutex_;
  std::optional<Error> lost_;
};

}  // namespace shunt
