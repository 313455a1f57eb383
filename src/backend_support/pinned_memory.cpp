#include "backend_support/pinned_memory.h"

#include <algorithm>
#include <utility>

#include "base/aligned_bytes.h"
#include "device/host_buffer.h"
#include "shunt/message.h"

namespace shunt {

Result<std::unique_ptr<Buffer>> PinnedMemory::allocate(std::size_t bytes) {
  SHUNT_ASSIGN(auto data, allocate_(std::max<std::size_t>(bytes, 1)));
  const std::span<std::byte> range(data.get(), bytes);
  return wrap_memory(*this, range, std::move(data));
}

Result<std::shared_ptr<std::byte>> PinnedMemory::allocate_unpinned(std::size_t bytes) {
  AlignedBytes data = allocate_aligned(bytes, page_size());
  if (data == nullptr) {
    return fail(ErrorCode::kOutOfMemory, "can't allocate {} bytes of host memory", bytes);
  }
  const FreeAlignedBytes free = data.get_deleter();
  return std::shared_ptr<std::byte>(data.release(), free);
}

}  // namespace shunt
