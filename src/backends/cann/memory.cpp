#include "backends/cann/memory.h"

#include <algorithm>
#include <bit>

#include "backend_support/packed_memory.h"
#include "backends/cann/calls.h"
#include "device/range.h"
#include "shunt/message.h"

namespace shunt::cann {

namespace {

class DeviceBuffer final : public Buffer {
 public:
  DeviceBuffer(const DeviceMemory& type, std::unique_ptr<Allocation> allocation, std::size_t size)
      : type_(type), allocation_(std::move(allocation)), size_(size) {}
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return size_; }
  DevicePointer address() const { return allocation_ ? allocation_->address() : nullptr; }
  std::byte* host_data() override { return type_.host_accessible() ? address() : nullptr; }

  Status write(std::size_t offset, std::span<const std::byte> from) override {
    SHUNT_TRY(check_range(*this, offset, from.size()));
    if (from.empty()) return ok();
    return context().call<&Symbols::memcpy>(static_cast<void*>(address() + offset), from.size(),
                                            static_cast<const void*>(from.data()), from.size(),
                                            CopyKind::kToDevice);
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(check_range(*this, offset, to.size()));
    if (to.empty()) return ok();
    return context().call<&Symbols::memcpy>(static_cast<void*>(to.data()), to.size(),
                                            static_cast<const void*>(address() + offset), to.size(),
                                            CopyKind::kToHost);
  }
  Status fill(std::size_t offset, std::size_t bytes, std::byte value) override {
    SHUNT_TRY(check_range(*this, offset, bytes));
    if (bytes == 0) return ok();
    return context().call<&Symbols::memset>(static_cast<void*>(address() + offset), bytes,
                                            std::to_integer<std::int32_t>(value), bytes);
  }

 private:
  const DeviceContext& context() const { return *type_.context(); }

  const DeviceMemory& type_;
  std::unique_ptr<Allocation> allocation_;  // null: no bytes
  std::size_t size_;
};

constexpr std::size_t kPage = 4096;

}  // namespace

Result<std::unique_ptr<Allocation>> Allocation::create(std::shared_ptr<const DeviceContext> context,
                                                       std::size_t bytes, Use use) {
  std::unique_ptr<Allocation> made(new Allocation(std::move(context)));
  void* address = nullptr;
  SHUNT_TRY(made->context_->call<&Symbols::malloc>(&address, bytes, kHugeFirst));
  made->address_ = static_cast<DevicePointer>(address);
  made->bytes_ = bytes;
  made->use_ = use;
  if (use == Use::kOwn) made->context_->add_own(static_cast<std::int64_t>(bytes));
  return made;
}

Allocation::~Allocation() {
  if (address_ == nullptr) return;
  context_->release<&Symbols::free>(static_cast<void*>(address_));
  if (use_ == Use::kOwn) context_->add_own(-static_cast<std::int64_t>(bytes_));
}

std::size_t DeviceMemory::alignment() const {
  return host_accessible() ? std::max(kAlignment, host_memory().alignment()) : kAlignment;
}

std::size_t DeviceMemory::size_of(const Tensor& tensor) const {
  const std::size_t bytes = BufferType::size_of(tensor);
  return bytes == 0 ? 0 : bytes + kTailBytes;
}

Result<std::unique_ptr<Buffer>> DeviceMemory::allocate(std::size_t bytes) {
  if (bytes > most_) {
    return fail(ErrorCode::kOutOfMemory, "{} bytes are more than the {} of the device", bytes,
                most_);
  }
  std::unique_ptr<Allocation> allocation;
  if (bytes != 0) {
    SHUNT_ASSIGN(allocation, Allocation::create(context_, bytes, Allocation::Use::kBuffer));
  }
  return std::make_unique<DeviceBuffer>(*this, std::move(allocation), bytes);
}

Result<std::shared_ptr<std::byte>> allocate_pinned(std::shared_ptr<const DeviceContext> context,
                                                   std::size_t bytes) {
  // The library's memory may start anywhere, and is freed by that address.
  void* address = nullptr;
  SHUNT_TRY(context->call<&Symbols::malloc_host>(&address, bytes + kPage));
  const auto start = (std::bit_cast<std::uintptr_t>(address) + kPage - 1) / kPage * kPage;
  return std::shared_ptr<std::byte>(std::bit_cast<std::byte*>(start),
                                    [context = std::move(context), address](std::byte*) {
                                      context->release<&Symbols::free_host>(address);
                                    });
}

DevicePointer device_address(const Address& at) {
  if (at.buffer == nullptr) return nullptr;
  if (Buffer* const bytes = packed_bytes_of(*at.buffer)) return device_address({bytes, at.offset});
  const auto* const own = dynamic_cast<const DeviceBuffer*>(at.buffer);
  return own == nullptr ? nullptr : own->address() + at.offset;
}

}  // namespace shunt::cann
