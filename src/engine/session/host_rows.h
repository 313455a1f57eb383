// Host memory with the rows of blocks whose place in the KV cache was given to others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/load/host_layout.h"
#include "shunt/device.h"

namespace shunt {

class HostRows {
 public:
  /// OutOfMemory; Unsupported if the host can't use the memory.
  static Result<std::shared_ptr<HostRows>> allocate(BufferType& memory, HostLayout layout);

  std::int64_t slots() const { return layout_.slots; }
  std::size_t bytes() const { return layout_.bytes(); }
  /// The rows of a cache in a slot, for a whole block.
  std::span<std::byte> rows(std::size_t cache, std::int64_t slot) const;
  /// The same in all slots.
  std::span<std::byte> rows_of(std::size_t cache) const;

 private:
  HostRows(HostLayout layout, std::unique_ptr<Buffer> buffer)
      : layout_(std::move(layout)), buffer_(std::move(buffer)) {}

  HostLayout layout_;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace shunt
