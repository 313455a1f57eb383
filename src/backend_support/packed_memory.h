// Memory for weights in a layout that only a device's kernels know. It is written and read as
// plain bytes, in any range.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shunt/device.h"

namespace shunt {

/// One tensor in such memory.
class PackedTensor {
 public:
  PackedTensor() = default;
  PackedTensor(const PackedTensor&) = delete;
  PackedTensor& operator=(const PackedTensor&) = delete;
  virtual ~PackedTensor() = default;
  /// Bytes of the plain tensor that can be written and read; at most its size in this memory.
  virtual std::size_t plain_bytes() const = 0;
  /// Ranges of those bytes.
  virtual Status write(std::size_t offset, std::span<const std::byte> from) = 0;
  virtual Status read(std::size_t offset, std::span<std::byte> to) = 0;
};

struct PackedPlace;

/// A backend derives its type from this and says which tensors it packs, and how. All other bytes
/// of a buffer are plain. Buffers are in any memory, at multiples of alignment().
class PackedMemory : public BufferType {
 public:
  /// `layouts`: the layouts of tensors in it, as placement counts them.
  explicit PackedMemory(std::string name, std::vector<Layout> layouts = {Layout{}})
      : name_(std::move(name)), layouts_(std::move(layouts)) {}
  std::string_view name() const final { return name_; }
  std::span<const Layout> layouts() const final { return layouts_; }
  std::size_t alignment() const override { return host_memory().alignment(); }
  bool host_accessible() const final { return false; }
  std::size_t size_of(const Tensor& tensor) const final;
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) final;
  /// Invalid if a tensor is not inside the buffer, or overlaps another one.
  Result<std::unique_ptr<Buffer>> allocate_for(std::size_t bytes,
                                               std::span<const PlacedTensor> tensors) final;
  /// Invalid as allocate_for(), or if `memory` is not of container() type.
  Result<std::unique_ptr<Buffer>> place_in(Buffer& memory,
                                           std::span<const PlacedTensor> tensors) final;

  /// Whether a tensor is packed here.
  virtual bool packs(const Tensor& tensor) const = 0;

 protected:
  /// Bytes that a packed tensor takes: by default as many as a plain one.
  virtual std::size_t packed_bytes(const Tensor& tensor) const {
    return BufferType::size_of(tensor);
  }
  /// A packed tensor that starts at `offset` of `bytes`, the buffer's memory. It outlives the
  /// tensor.
  virtual std::unique_ptr<PackedTensor> place(const Tensor& tensor, Buffer& bytes,
                                              std::size_t offset) const = 0;
  /// Memory for a buffer: by default the host's. A type that takes other memory has no larger
  /// alignment() or max_size() than that memory. The host need not be able to access it.
  virtual Result<std::unique_ptr<Buffer>> allocate_bytes(std::size_t bytes);
  /// An error with the reason if a tensor can't be placed so.
  virtual Status check_place(const PlacedTensor&) const { return ok(); }

 private:
  /// In order, and only those that are packed.
  Result<std::vector<PackedPlace>> check_places(std::size_t bytes,
                                                std::span<const PlacedTensor> tensors) const;
  /// `owned`: `bytes`, if the buffer is to own them.
  std::unique_ptr<Buffer> make_buffer(Buffer& bytes, std::unique_ptr<Buffer> owned,
                                      std::vector<PackedPlace> places) const;

  std::string name_;
  std::vector<Layout> layouts_;
};

/// Packed memory whose buffers are in other memory, which must outlive it.
class PackedInMemory : public PackedMemory {
 public:
  PackedInMemory(std::string name, std::vector<Layout> layouts, BufferType& memory)
      : PackedMemory(std::move(name), std::move(layouts)), memory_(memory) {}
  std::size_t alignment() const final { return memory_.alignment(); }
  std::size_t max_size() const final { return memory_.max_size(); }

 protected:
  Result<std::unique_ptr<Buffer>> allocate_bytes(std::size_t bytes) final {
    return memory_.allocate(bytes);
  }
  BufferType& memory() const { return memory_; }

 private:
  BufferType& memory_;
};

/// The first byte of a buffer of packed memory; null if the host can't access it.
std::byte* packed_data(Buffer& buffer);
/// The memory of a buffer of packed memory; null if it is other memory. Offsets are the same.
Buffer* packed_bytes_of(const Buffer& buffer);
/// The packed tensor that starts at an address; null if none does, or if it is other memory.
PackedTensor* find_packed(const Address& at);
/// Whether a buffer of packed memory has a tensor at an offset, as passed to allocate_for(): packed
/// if the memory packs it, else in plain bytes.
bool is_placed(const Buffer& buffer, std::size_t offset, const Tensor& tensor);

}  // namespace shunt
