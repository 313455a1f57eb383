#include <algorithm>
#include <cstring>

#include "base/aligned_bytes.h"
#include "device/host_buffer.h"
#include "device/range.h"
#include "shunt/device.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector

/// Several buffers may share bytes: the ranges may overlap.
void move_bytes(std::byte* to, std::span<const std::byte> from) {
  if (!from.empty()) std::memmove(to, from.data(), from.size());
}

/// Copies rows that do not overlap.
void copy_rows(std::byte* to, const std::byte* from, const CopyShape& shape) {
  if (shape.bytes == 0) return;
  for (std::size_t row = 0; row < shape.rows; ++row) {
    std::memcpy(to + row * shape.to_pitch, from + row * shape.from_pitch, shape.bytes);
  }
}

class HostBuffer final : public Buffer {
 public:
  HostBuffer(const BufferType& type, AlignedBytes data, std::size_t size)
      : type_(type), data_(std::move(data)), size_(size) {}
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return size_; }
  std::byte* host_data() override { return data_.get(); }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    SHUNT_TRY(check_range(*this, offset, from.size()));
    move_bytes(data_.get() + offset, from);
    return ok();
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(check_range(*this, offset, to.size()));
    move_bytes(to.data(), {data_.get() + offset, to.size()});
    return ok();
  }
  Status write_2d(std::size_t offset, const std::byte* from, const CopyShape& shape) override {
    SHUNT_TRY(check_rows(*this, offset, shape, shape.to_pitch));
    copy_rows(data_.get() + offset, from, shape);
    return ok();
  }
  Status read_2d(std::byte* to, std::size_t offset, const CopyShape& shape) override {
    SHUNT_TRY(check_rows(*this, offset, shape, shape.from_pitch));
    copy_rows(to, data_.get() + offset, shape);
    return ok();
  }
  Status fill(std::size_t offset, std::size_t bytes, std::byte value) override {
    SHUNT_TRY(check_range(*this, offset, bytes));
    std::fill_n(data_.get() + offset, bytes, value);
    return ok();
  }

 private:
  const BufferType& type_;
  AlignedBytes data_;
  std::size_t size_;
};

class HostMemory final : public BufferType {
 public:
  std::string_view name() const override { return "host"; }
  std::size_t alignment() const override { return kAlignment; }
  bool host_accessible() const override { return true; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    return allocate_host_buffer(*this, bytes);
  }
};

/// Memory with another owner. `data` may only be written to if `writable`.
class WrappedBuffer final : public Buffer {
 public:
  WrappedBuffer(const BufferType& type, std::span<std::byte> bytes, bool writable,
                std::shared_ptr<const void> keep_alive)
      : type_(type),
        data_(bytes.data()),
        size_(bytes.size()),
        writable_(writable),
        keep_alive_(std::move(keep_alive)) {}
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return size_; }
  std::byte* host_data() override { return data_; }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    SHUNT_TRY(check_range(*this, offset, from.size()));
    if (!writable_) return invalid("this buffer wraps read-only memory");
    move_bytes(data_ + offset, from);
    return ok();
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(check_range(*this, offset, to.size()));
    move_bytes(to.data(), {data_ + offset, to.size()});
    return ok();
  }

 private:
  const BufferType& type_;
  std::byte* data_;
  std::size_t size_;
  bool writable_;
  std::shared_ptr<const void> keep_alive_;
};

}  // namespace

Result<std::unique_ptr<Buffer>> allocate_host_buffer(const BufferType& type, std::size_t bytes) {
  AlignedBytes data = allocate_aligned(bytes, type.alignment());
  if (data == nullptr) {
    return fail(ErrorCode::kOutOfMemory, "can't allocate {} bytes of host memory", bytes);
  }
  return std::make_unique<HostBuffer>(type, std::move(data), bytes);
}

BufferType& host_memory() {
  static HostMemory type;  // stateless, so one object serves all callers
  return type;
}

std::unique_ptr<Buffer> wrap_read_only_memory(std::span<const std::byte> bytes,
                                              std::shared_ptr<const void> keep_alive) {
  // `writable` is false, and no kernel writes into a weight (GraphBuilder::apply makes sure of it).
  const std::span<std::byte> cast(const_cast<std::byte*>(bytes.data()), bytes.size());
  return std::make_unique<WrappedBuffer>(host_memory(), cast, false, std::move(keep_alive));
}

std::unique_ptr<Buffer> wrap_host_memory(std::span<std::byte> bytes,
                                         std::shared_ptr<void> keep_alive) {
  return wrap_memory(host_memory(), bytes, std::move(keep_alive));
}

std::unique_ptr<Buffer> wrap_memory(const BufferType& type, std::span<std::byte> bytes,
                                    std::shared_ptr<void> keep_alive) {
  return std::make_unique<WrappedBuffer>(type, bytes, true, std::move(keep_alive));
}

}  // namespace shunt
