#include "backends/cuda/memory.h"

#include "device/range.h"
#include "shunt/message.h"

namespace shunt::cuda {

namespace {

class DeviceBuffer final : public Buffer {
 public:
  DeviceBuffer(const DeviceMemory& type, std::shared_ptr<Context> context, DevicePointer address,
               std::size_t size)
      : type_(type), context_(std::move(context)), address_(address), size_(size) {}
  ~DeviceBuffer() override {
    if (address_ != 0) (void)context_->call<&Symbols::mem_free>(address_);
  }
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return size_; }
  DevicePointer address() const { return address_; }

  Status write(std::size_t offset, std::span<const std::byte> from) override {
    SHUNT_TRY(check_range(*this, offset, from.size()));
    if (from.empty()) return ok();
    return context_->write(address_ + offset, from.data(), from.size());
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(check_range(*this, offset, to.size()));
    if (to.empty()) return ok();
    return context_->read(to.data(), address_ + offset, to.size());
  }
  Status fill(std::size_t offset, std::size_t bytes, std::byte value) override {
    SHUNT_TRY(check_range(*this, offset, bytes));
    if (bytes == 0) return ok();
    return context_->fill(address_ + offset, bytes, std::to_integer<unsigned char>(value));
  }

 private:
  const DeviceMemory& type_;
  std::shared_ptr<Context> context_;
  DevicePointer address_;  // 0: no bytes
  std::size_t size_;
};

}  // namespace

Result<std::unique_ptr<Buffer>> DeviceMemory::allocate(std::size_t bytes) {
  DevicePointer address = 0;
  if (bytes > total_) {
    return fail(ErrorCode::kOutOfMemory, "{} bytes are more than the {} of the device", bytes,
                total_);
  }
  if (bytes != 0) SHUNT_TRY(context_->call<&Symbols::mem_alloc>(&address, bytes));
  return std::make_unique<DeviceBuffer>(*this, context_, address, bytes);
}

Result<std::shared_ptr<std::byte>> allocate_pinned(const std::shared_ptr<Context>& context,
                                                   std::size_t bytes) {
  void* address = nullptr;
  SHUNT_TRY(context->call<&Symbols::mem_host_alloc>(&address, bytes, kHostPortable | kHostMapped));
  return std::shared_ptr<std::byte>(static_cast<std::byte*>(address), [context](std::byte* data) {
    (void)context->call<&Symbols::mem_free_host>(static_cast<void*>(data));
  });
}

DevicePointer device_address(const Address& at) {
  if (const auto* const own = dynamic_cast<const DeviceBuffer*>(at.buffer))
    return own->address() + at.offset;
  // Pinned memory has one address for the host and all devices.
  return reinterpret_cast<DevicePointer>(at.buffer->host_data()) + at.offset;
}

}  // namespace shunt::cuda
