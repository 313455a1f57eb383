#include <cstring>

#include "base/aligned_bytes.h"
#include "base/fail.h"
#include "device/range.h"
#include "shunt/device.h"

namespace shunt {

namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector

class HostBuffer final : public Buffer {
 public:
  HostBuffer(AlignedBytes data, std::size_t size) : data_(std::move(data)), size_(size) {}
  const BufferType& type() const override { return host_memory(); }
  std::size_t size() const override { return size_; }
  std::byte* host_data() override { return data_.get(); }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    SHUNT_TRY(check_range(*this, offset, from.size()));
    if (!from.empty()) std::memcpy(data_.get() + offset, from.data(), from.size());
    return ok();
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(check_range(*this, offset, to.size()));
    if (!to.empty()) std::memcpy(to.data(), data_.get() + offset, to.size());
    return ok();
  }

 private:
  AlignedBytes data_;
  std::size_t size_;
};

class HostMemory final : public BufferType {
 public:
  std::string_view name() const override { return "host"; }
  std::size_t alignment() const override { return kAlignment; }
  bool host_accessible() const override { return true; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    AlignedBytes data = allocate_aligned(bytes, kAlignment);
    if (data == nullptr) {
      return fail(ErrorCode::kOutOfMemory, "no {} bytes of host memory to be had", bytes);
    }
    return std::make_unique<HostBuffer>(std::move(data), bytes);
  }
};

/// Memory of somebody else's. `data` may only be written to if `writable`.
class WrappedBuffer final : public Buffer {
 public:
  WrappedBuffer(std::byte* data, std::size_t size, bool writable,
                std::shared_ptr<const void> keep_alive)
      : data_(data), size_(size), writable_(writable), keep_alive_(std::move(keep_alive)) {}
  const BufferType& type() const override { return host_memory(); }
  std::size_t size() const override { return size_; }
  std::byte* host_data() override { return data_; }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    SHUNT_TRY(check_range(*this, offset, from.size()));
    if (!writable_) return invalid("this buffer lies over read-only memory");
    if (!from.empty()) std::memcpy(data_ + offset, from.data(), from.size());
    return ok();
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(check_range(*this, offset, to.size()));
    if (!to.empty()) std::memcpy(to.data(), data_ + offset, to.size());
    return ok();
  }

 private:
  std::byte* data_;
  std::size_t size_;
  bool writable_;
  std::shared_ptr<const void> keep_alive_;
};

}  // namespace

Status check_range(const Buffer& buffer, std::size_t offset, std::size_t bytes) {
  if (offset <= buffer.size() && bytes <= buffer.size() - offset) return ok();
  return invalid("{} bytes at {} are not inside a buffer of {} bytes", bytes, offset,
                 buffer.size());
}

BufferType& host_memory() {
  static HostMemory type;  // holds nothing: the same for everybody, for ever
  return type;
}

std::unique_ptr<Buffer> wrap_read_only_memory(std::span<const std::byte> bytes,
                                              std::shared_ptr<const void> keep_alive) {
  // The cast is undone by `writable`: whoever computes never writes into a weight
  // (GraphBuilder::apply sees to it).
  return std::make_unique<WrappedBuffer>(const_cast<std::byte*>(bytes.data()), bytes.size(), false,
                                         std::move(keep_alive));
}

std::unique_ptr<Buffer> wrap_host_memory(std::span<std::byte> bytes,
                                         std::shared_ptr<void> keep_alive) {
  return std::make_unique<WrappedBuffer>(bytes.data(), bytes.size(), true, std::move(keep_alive));
}

}  // namespace shunt
