#include "engine/session/host_rows.h"

#include <utility>

#include "base/to_size.h"
#include "shunt/message.h"

namespace shunt {

Result<std::shared_ptr<HostRows>> HostRows::allocate(BufferType& memory, HostLayout layout) {
  SHUNT_ASSIGN(std::unique_ptr<Buffer> buffer, memory.allocate(layout.bytes()));
  if (buffer->host_data() == nullptr)
    return fail(ErrorCode::kUnsupported, "the host can't use {}", memory.name());
  return std::shared_ptr<HostRows>(new HostRows(std::move(layout), std::move(buffer)));
}

std::span<std::byte> HostRows::rows(std::size_t cache, std::int64_t slot) const {
  return {buffer_->host_data() + layout_.offset(cache, slot), layout_.block_bytes[cache]};
}

std::span<std::byte> HostRows::rows_of(std::size_t cache) const {
  return {buffer_->host_data() + layout_.offset(cache, 0),
          layout_.block_bytes[cache] * to_size(layout_.slots)};
}

}  // namespace shunt
