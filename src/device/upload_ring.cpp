#include "device/upload_ring.h"

#include <algorithm>
#include <utility>

#include "device/range.h"
#include "shunt/message.h"

namespace shunt {

Result<std::unique_ptr<UploadRing>> UploadRing::create(Device& device, std::size_t bytes) {
  BufferType* const pinned = device.staging_memory();
  if (pinned == nullptr) {
    return fail(ErrorCode::kUnsupported, "{} has no staging memory", device.name());
  }
  const std::size_t size = std::min(bytes, pinned->max_size());
  if (size == 0) return invalid("an upload ring needs buffers of at least a byte");
  SHUNT_ASSIGN(auto stream, device.open_stream());
  std::unique_ptr<UploadRing> ring(new UploadRing(std::move(stream)));
  for (Slot& slot : ring->slots_) {
    SHUNT_ASSIGN(slot.buffer, pinned->allocate(size));
    SHUNT_ASSIGN(slot.uploaded, ring->stream_->create_event());
  }
  return ring;
}

UploadRing::~UploadRing() {
  (void)stream_->synchronize();
}

Status UploadRing::write(Address to, std::span<const std::byte> from) {
  SHUNT_TRY(check_range(*to.buffer, to.offset, from.size()));
  const std::size_t most = slots_.front().buffer->size();
  for (std::size_t done = 0; done < from.size() && failed_;) {
    const std::size_t now = std::min(most, from.size() - done);
    failed_ = write_piece({to.buffer, to.offset + done}, from.subspan(done, now));
    done += now;
  }
  return failed_;
}

Status UploadRing::wait_for(Slot& slot) {
  if (!std::exchange(slot.under_way, false)) return ok();
  return slot.uploaded->wait();
}

Status UploadRing::write_piece(Address to, std::span<const std::byte> piece) {
  Slot& slot = slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  SHUNT_TRY(wait_for(slot));
  SHUNT_TRY(slot.buffer->write(0, piece));
  slot.under_way = true;
  return stream_->write(to, {slot.buffer->host_data(), piece.size()}, {}, slot.uploaded.get());
}

Status UploadRing::finish() {
  for (Slot& slot : slots_) {
    Status uploaded = wait_for(slot);
    if (failed_) failed_ = std::move(uploaded);
  }
  Status synchronized = stream_->synchronize();
  if (failed_) failed_ = std::move(synchronized);
  return std::exchange(failed_, ok());
}

}  // namespace shunt
