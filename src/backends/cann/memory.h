// A device's memory, and pinned memory of the host.
#pragma once

#include <memory>
#include <string>

#include "backends/cann/device_context.h"
#include "shunt/device.h"

namespace shunt::cann {

/// An allocation of a device's memory. Freed when destroyed; not freed once the device is lost.
class Allocation {
 public:
  enum class Use : std::uint8_t { kBuffer, kOwn };
  /// OutOfMemory if there is none left. `bytes` is not 0. Device::own_memory() counts those of
  /// Use::kOwn.
  static Result<std::unique_ptr<Allocation>> create(std::shared_ptr<const DeviceContext> context,
                                                    std::size_t bytes, Use use = Use::kOwn);
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation();
  DevicePointer address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  explicit Allocation(std::shared_ptr<const DeviceContext> context)
      : context_(std::move(context)) {}

  std::shared_ptr<const DeviceContext> context_;
  DevicePointer address_ = nullptr;
  std::size_t bytes_ = 0;
  Use use_ = Use::kOwn;
};

/// Memory of a device: out of the host's reach, unless the chip shares the host's memory.
class DeviceMemory final : public BufferType {
 public:
  /// `most`: bytes of the largest buffer.
  DeviceMemory(std::string name, std::shared_ptr<const DeviceContext> context, std::size_t most)
      : name_(std::move(name)), context_(std::move(context)), most_(most) {}
  std::string_view name() const override { return name_; }
  std::size_t alignment() const override;
  std::size_t max_size() const override { return most_; }
  bool host_accessible() const override { return context_->runtime().shares_memory(); }
  /// With the tail that operators may read.
  std::size_t size_of(const Tensor& tensor) const override;
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;

  const std::shared_ptr<const DeviceContext>& context() const { return context_; }

 private:
  std::string name_;
  std::shared_ptr<const DeviceContext> context_;
  std::size_t most_;
};

/// Pinned host memory of the vendor's library, which starts at a page.
Result<std::shared_ptr<std::byte>> allocate_pinned(std::shared_ptr<const DeviceContext> context,
                                                   std::size_t bytes);

/// Where the device finds a tensor in DeviceMemory, or in packed memory of that; null for other
/// memory.
DevicePointer device_address(const Address& at);

}  // namespace shunt::cann
