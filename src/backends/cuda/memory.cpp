#include "backends/cuda/memory.h"

#include <bit>
#include <cstring>

#include "device/range.h"
#include "shunt/message.h"

namespace shunt::cuda {

namespace {

class DeviceBuffer final : public Buffer {
 public:
  DeviceBuffer(const DeviceMemory& type, std::unique_ptr<Allocation> allocation, std::size_t size)
      : type_(type), allocation_(std::move(allocation)), size_(size) {}
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return size_; }
  DevicePointer address() const { return allocation_ ? allocation_->address() : 0; }
  std::byte* host_data() override {
    return type_.host_accessible() ? std::bit_cast<std::byte*>(address()) : nullptr;
  }

  Status write(std::size_t offset, std::span<const std::byte> from) override {
    SHUNT_TRY(check_range(*this, offset, from.size()));
    if (from.empty()) return ok();
    return context().write(address() + offset, from.data(), from.size());
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(check_range(*this, offset, to.size()));
    if (to.empty()) return ok();
    return context().read(to.data(), address() + offset, to.size());
  }
  Status fill(std::size_t offset, std::size_t bytes, std::byte value) override {
    SHUNT_TRY(check_range(*this, offset, bytes));
    if (bytes == 0) return ok();
    return context().fill(address() + offset, bytes, std::to_integer<unsigned char>(value));
  }

 private:
  Context& context() const { return *type_.context(); }

  const DeviceMemory& type_;
  std::unique_ptr<Allocation> allocation_;  // null: no bytes
  std::size_t size_;
};

}  // namespace

Result<std::unique_ptr<Buffer>> DeviceMemory::allocate(std::size_t bytes) {
  if (bytes > most_) {
    return fail(ErrorCode::kOutOfMemory, "{} bytes are more than the {} of the device", bytes,
                most_);
  }
  std::unique_ptr<Allocation> allocation;
  if (bytes != 0) {
    SHUNT_ASSIGN(allocation, cuda::allocate(kind_, owner_, bytes));
  }
  return std::make_unique<DeviceBuffer>(*this, std::move(allocation), bytes);
}

Result<std::shared_ptr<std::byte>> allocate_pinned(const std::shared_ptr<Context>& context,
                                                   std::size_t bytes) {
  void* address = nullptr;
  SHUNT_TRY(
      context->call_idle<&Symbols::mem_host_alloc>(&address, bytes, kHostPortable | kHostMapped));
  return std::shared_ptr<std::byte>(static_cast<std::byte*>(address), [context](std::byte* data) {
    context->release_idle<&Symbols::mem_free_host>(static_cast<void*>(data));
  });
}

DevicePointer device_address(const Address& at) {
  if (const auto* const own = dynamic_cast<const DeviceBuffer*>(at.buffer))
    return own->address() + at.offset;
  // Pinned memory has one address for the host and all devices.
  return std::bit_cast<DevicePointer>(at.buffer->host_data()) + at.offset;
}

}  // namespace shunt::cuda
