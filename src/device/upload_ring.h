// Uploads from pageable host memory through two pinned buffers: one is filled while the other is on
// its way to the device.
#pragma once

#include <array>
#include <memory>

#include "shunt/device.h"

namespace shunt {

/// Belongs to one thread at a time.
class UploadRing {
 public:
  /// Two buffers of `bytes` in the device's staging memory, or of as much as its largest buffer
  /// has. Unsupported if the device has no staging memory; OutOfMemory.
  static Result<std::unique_ptr<UploadRing>> create(Device& device, std::size_t bytes);
  /// Waits for uploads under way.
  ~UploadRing();

  /// Copies bytes into a buffer of the device, in pieces. Returns once they are in pinned memory:
  /// `from` may change then. Errors may be those of earlier writes; after one nothing is written.
  /// Invalid if the range is not inside the buffer: that affects no other write.
  Status write(Address to, std::span<const std::byte> from);
  /// Waits until all written bytes have arrived. An error of any write is returned. Afterwards the
  /// ring is as new, if the device can go on.
  Status finish();

 private:
  struct Slot {
    std::unique_ptr<Buffer> buffer;
    std::unique_ptr<Event> uploaded;
    bool under_way = false;  // the event belongs to an upload that nothing has waited for
  };
  static Status wait_for(Slot& slot);
  explicit UploadRing(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
  Status write_piece(Address to, std::span<const std::byte> piece);

  std::unique_ptr<Stream> stream_;
  std::array<Slot, 2> slots_;
  std::size_t next_ = 0;  // slot
  Status failed_;         // the first error since finish()
};

}  // namespace shunt
