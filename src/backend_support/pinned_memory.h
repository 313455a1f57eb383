// Pinned host memory that a vendor's library allocates, for Device::staging_memory().
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shunt/device.h"

namespace shunt {

/// Thread-safe. Ordinary memory where the vendor's library refuses: copies are slower then, and
/// warnings() has the reason.
class PinnedMemory final : public BufferType {
 public:
  /// Allocates `bytes` bytes that are unpinned and freed with the last copy of the handle, or
  /// returns an error with the reason. The memory starts at a page.
  using Allocate = std::function<Result<std::shared_ptr<std::byte>>(std::size_t bytes)>;

  /// By default memory that is not pinned, for tests.
  explicit PinnedMemory(std::string name, Allocate allocate = allocate_unpinned)
      : name_(std::move(name)), allocate_(std::move(allocate)) {}
  std::string_view name() const override { return name_; }
  std::size_t alignment() const override { return host_memory().alignment(); }
  bool host_accessible() const override { return true; }
  /// OutOfMemory if there is no ordinary memory either. Other errors of the vendor are passed on.
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;
  /// Counts a refusal of pinned memory outside of allocate(). Errors other than OutOfMemory and
  /// Unsupported are passed on.
  Status count_refusal(const Error& error);
  /// For Device::warnings(): one, with the number of refusals, or none.
  std::vector<DeviceWarning> warnings() const;

 private:
  static Result<std::shared_ptr<std::byte>> allocate_unpinned(std::size_t bytes);

  std::string name_;
  Allocate allocate_;
  mutable std::mutex mutex_;
  DeviceWarning refused_;
};

}  // namespace shunt
