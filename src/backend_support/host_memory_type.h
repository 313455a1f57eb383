// Host memory with the properties that a device asks for.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "device/host_buffer.h"

namespace shunt {

/// For a device that computes in host memory: all devices that read host memory read it in place.
class HostMemoryType final : public BufferType {
 public:
  /// `layouts`: the layouts of tensors while the device computes. Placement uses them for costs.
  HostMemoryType(std::string_view name, std::size_t alignment, std::vector<Layout> layouts)
      : name_(name), alignment_(alignment), layouts_(std::move(layouts)) {}
  std::string_view name() const override { return name_; }
  std::size_t alignment() const override { return alignment_; }
  bool host_accessible() const override { return true; }
  std::span<const Layout> layouts() const override { return layouts_; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    return allocate_host_buffer(*this, bytes);
  }

 private:
  std::string_view name_;
  std::size_t alignment_;
  std::vector<Layout> layouts_;
};

}  // namespace shunt
