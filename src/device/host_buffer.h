// Buffers in this process's memory, for every type of such memory.
#pragma once

#include <memory>

#include "shunt/device.h"

namespace shunt {

/// A buffer of a type that the host can access, at a multiple of the type's alignment. OutOfMemory
/// if there is none left.
Result<std::unique_ptr<Buffer>> allocate_host_buffer(const BufferType& type, std::size_t bytes);

/// wrap_host_memory() for a type that the host can access. The type must outlive the buffer.
std::unique_ptr<Buffer> wrap_memory(const BufferType& type, std::span<std::byte> bytes,
                                    std::shared_ptr<void> keep_alive);

}  // namespace shunt
