// A backend that has one device.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "shunt/device.h"

namespace shunt {

class OneDeviceBackend final : public Backend {
 public:
  /// `note`: see Backend::note().
  OneDeviceBackend(std::string_view name, std::unique_ptr<Device> device, std::string note = {})
      : name_(name), note_(std::move(note)), device_(std::move(device)) {}
  std::string_view name() const override { return name_; }
  std::span<Device* const> devices() override { return devices_; }
  std::string_view note() const override { return note_; }

 private:
  std::string name_;
  std::string note_;
  std::unique_ptr<Device> device_;
  std::array<Device*, 1> devices_ = {device_.get()};
};

}  // namespace shunt
