#include "backends/cpu/memory.h"

#include <limits>
#include <memory>

#include "device/host_buffer.h"
#include "shunt/message.h"

namespace shunt::cpu {

Result<std::unique_ptr<Buffer>> HighBandwidthMemory::allocate(std::size_t bytes) {
  // With room to align it: hwloc promises nothing.
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  std::shared_ptr<std::byte> data;
  if (bytes < most - alignment()) data = nodes_->allocate(bytes + alignment());
  if (data == nullptr) {
    return fail(ErrorCode::kOutOfMemory, "can't allocate {} bytes of host memory", bytes);
  }
  void* start = data.get();
  std::size_t room = bytes + alignment();
  std::align(alignment(), bytes, start, room);
  const std::span<std::byte> range(static_cast<std::byte*>(start), bytes);
  return wrap_memory(*this, range, std::move(data));
}

}  // namespace shunt::cpu
