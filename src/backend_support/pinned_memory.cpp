#include "backend_support/pinned_memory.h"

#include <algorithm>
#include <utility>

#include "base/aligned_bytes.h"
#include "device/host_buffer.h"
#include "shunt/message.h"

namespace shunt {

Result<std::unique_ptr<Buffer>> PinnedMemory::allocate(std::size_t bytes) {
  const std::size_t wanted = std::max<std::size_t>(bytes, 1);
  auto data = allocate_(wanted);
  if (!data) {
    SHUNT_TRY(count_refusal(data.error()));
    data = allocate_unpinned(wanted);
    SHUNT_TRY(data);
  }
  const std::span<std::byte> range(data->get(), bytes);
  return wrap_memory(*this, range, std::move(*data));
}

Status PinnedMemory::count_refusal(const Error& error) {
  // Of a device that fails, ordinary memory is no use either.
  if (error.code() != ErrorCode::kOutOfMemory && error.code() != ErrorCode::kUnsupported)
    return Error(error);
  const std::lock_guard lock(mutex_);
  if (refused_.count++ == 0) {
    refused_.text = fmt::format(
        "copies use ordinary host memory, which is slower: no pinned memory: {}", error.message());
  }
  return ok();
}

std::vector<DeviceWarning> PinnedMemory::warnings() const {
  const std::lock_guard lock(mutex_);
  if (refused_.count == 0) return {};
  return {refused_};
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
