// A device's memory, and pinned memory of the host.
#pragma once

#include <memory>
#include <string>

#include "backends/cuda/driver.h"
#include "shunt/device.h"

namespace shunt::cuda {

/// Memory of a card, out of the host's reach.
class DeviceMemory final : public BufferType {
 public:
  DeviceMemory(std::string name, std::shared_ptr<Context> context, std::size_t total)
      : name_(std::move(name)), context_(std::move(context)), total_(total) {}
  std::string_view name() const override { return name_; }
  std::size_t alignment() const override { return 256; }
  std::size_t max_size() const override { return total_; }
  bool host_accessible() const override { return false; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;

 private:
  std::string name_;
  std::shared_ptr<Context> context_;
  std::size_t total_;
};

/// Pinned host memory of the driver, which the device reads and writes at the same addresses.
Result<std::shared_ptr<std::byte>> allocate_pinned(const std::shared_ptr<Context>& context,
                                                   std::size_t bytes);

/// Where the device finds a tensor: in DeviceMemory, or in memory of the host that it maps.
DevicePointer device_address(const Address& at);

}  // namespace shunt::cuda
