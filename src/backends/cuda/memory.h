// A device's memory, and pinned memory of the host.
#pragma once

#include <memory>
#include <string>

#include "backends/cuda/allocation.h"
#include "shunt/device.h"

namespace shunt::cuda {

/// Memory of a device: out of the host's reach, unless it is memory of the host.
class DeviceMemory final : public BufferType {
 public:
  /// `most`: bytes of the largest buffer.
  DeviceMemory(std::string name, MemoryKind kind, std::shared_ptr<Context> context,
               std::size_t most)
      : name_(std::move(name)), kind_(kind), owner_{std::move(context), {}}, most_(most) {}
  std::string_view name() const override { return name_; }
  std::size_t alignment() const override { return 256; }
  std::size_t max_size() const override { return most_; }
  bool host_accessible() const override { return kind_ == MemoryKind::kHost; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;

  MemoryKind kind() const { return kind_; }
  const std::shared_ptr<Context>& context() const { return owner_.context; }
  /// Gives other devices access to buffers that are allocated from now on.
  void set_peers(std::vector<DeviceNumber> peers) { owner_.peers = std::move(peers); }

 private:
  std::string name_;
  MemoryKind kind_;
  MemoryOwner owner_;
  std::size_t most_;
};

/// Pinned host memory of the driver, which the device reads and writes at the same addresses.
Result<std::shared_ptr<std::byte>> allocate_pinned(const std::shared_ptr<Context>& context,
                                                   std::size_t bytes);

/// Where the device finds a tensor: in DeviceMemory, or in memory of the host that it maps.
DevicePointer device_address(const Address& at);

}  // namespace shunt::cuda
