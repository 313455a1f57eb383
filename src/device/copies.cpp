// Copies that are made of simpler ones: rows, fills, and from any buffer to any other.
#include <algorithm>

#include "base/aligned_bytes.h"
#include "device/range.h"
#include "shunt/device.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::size_t kFillPiece = std::size_t{1} << 16;
constexpr std::size_t kCopyPiece = std::size_t{1} << 20;

/// One copy a row in a stream: the first waits, the last signals. An error is signalled as well:
/// `finish` submits no bytes after it.
template <class Row, class Finish>
Status submit_rows(const CopyShape& shape, std::span<Event* const> waits, Event* signal, Row row,
                   Finish finish) {
  if (shape.rows == 0 || shape.bytes == 0) return finish(waits, signal);
  for (std::size_t i = 0; i < shape.rows; ++i) {
    const bool last = i + 1 == shape.rows;
    const Status status =
        row(i, i == 0 ? waits : std::span<Event* const>(), last ? signal : nullptr);
    if (status || last) continue;
    (void)finish({}, signal);  // the stream has failed: the event gets that error
    return status;
  }
  return ok();
}

/// Through host memory, piece by piece. Within one buffer the order of pieces is such that no byte
/// is overwritten before it was read.
Status copy_through_host(Address to, Address from, std::size_t bytes) {
  const std::size_t piece = std::min(bytes, kCopyPiece);
  const AlignedBytes host = allocate_aligned(piece, alignof(std::max_align_t));
  if (host == nullptr) {
    return fail(ErrorCode::kOutOfMemory, "can't allocate {} bytes of host memory for a copy",
                piece);
  }
  const bool backwards = to.buffer == from.buffer && to.offset > from.offset;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t now = std::min(piece, bytes - done);
    const std::size_t at = backwards ? bytes - done - now : done;
    SHUNT_TRY(from.buffer->read(from.offset + at, {host.get(), now}));
    SHUNT_TRY(to.buffer->write(to.offset + at, {host.get(), now}));
    done += now;
  }
  return ok();
}

}  // namespace

Status check_range(const Buffer& buffer, std::size_t offset, std::size_t bytes) {
  if (offset <= buffer.size() && bytes <= buffer.size() - offset) return ok();
  return invalid("{} bytes at {} are not inside a buffer of {} bytes", bytes, offset,
                 buffer.size());
}

Status check_rows(const Buffer& buffer, std::size_t offset, const CopyShape& shape,
                  std::size_t pitch) {
  if (shape.rows == 0) return check_range(buffer, offset, 0);
  if (shape.rows > 1 && std::min(shape.to_pitch, shape.from_pitch) < shape.bytes) {
    return invalid("rows of {} bytes overlap at pitches of {} and {} bytes", shape.bytes,
                   shape.to_pitch, shape.from_pitch);
  }
  const std::size_t room = offset <= buffer.size() ? buffer.size() - offset : 0;
  const bool fits = offset <= buffer.size() && shape.bytes <= room &&
                    (pitch == 0 || (shape.rows - 1) <= (room - shape.bytes) / pitch);
  if (fits) return ok();
  return invalid("{} rows of {} bytes at {}, {} bytes apart, are not inside a buffer of {} bytes",
                 shape.rows, shape.bytes, offset, pitch, buffer.size());
}

Status Buffer::write_2d(std::size_t offset, const std::byte* from, const CopyShape& shape) {
  SHUNT_TRY(check_rows(*this, offset, shape, shape.to_pitch));
  if (shape.bytes == 0) return ok();  // however many rows
  for (std::size_t row = 0; row < shape.rows; ++row) {
    SHUNT_TRY(write(offset + row * shape.to_pitch, {from + row * shape.from_pitch, shape.bytes}));
  }
  return ok();
}

Status Buffer::read_2d(std::byte* to, std::size_t offset, const CopyShape& shape) {
  SHUNT_TRY(check_rows(*this, offset, shape, shape.from_pitch));
  if (shape.bytes == 0) return ok();
  for (std::size_t row = 0; row < shape.rows; ++row) {
    SHUNT_TRY(read(offset + row * shape.from_pitch, {to + row * shape.to_pitch, shape.bytes}));
  }
  return ok();
}

Status Buffer::fill(std::size_t offset, std::size_t bytes, std::byte value) {
  SHUNT_TRY(check_range(*this, offset, bytes));
  const std::vector<std::byte> piece(std::min(kFillPiece, bytes), value);
  for (std::size_t done = 0; done < bytes; done += piece.size()) {
    SHUNT_TRY(write(offset + done, std::span(piece).first(std::min(piece.size(), bytes - done))));
  }
  return ok();
}

Status Stream::write_2d(Address to, const std::byte* from, const CopyShape& shape,
                        std::span<Event* const> waits, Event* signal) {
  SHUNT_TRY(check_rows(*to.buffer, to.offset, shape, shape.to_pitch));
  return submit_rows(
      shape, waits, signal,
      [&](std::size_t row, std::span<Event* const> before, Event* done) {
        return write({to.buffer, to.offset + row * shape.to_pitch},
                     {from + row * shape.from_pitch, shape.bytes}, before, done);
      },
      [&](std::span<Event* const> before, Event* done) { return write(to, {}, before, done); });
}

Status Stream::read_2d(std::byte* to, Address from, const CopyShape& shape,
                       std::span<Event* const> waits, Event* signal) {
  SHUNT_TRY(check_rows(*from.buffer, from.offset, shape, shape.from_pitch));
  return submit_rows(
      shape, waits, signal,
      [&](std::size_t row, std::span<Event* const> before, Event* done) {
        return read({to + row * shape.to_pitch, shape.bytes},
                    {from.buffer, from.offset + row * shape.from_pitch}, before, done);
      },
      [&](std::span<Event* const> before, Event* done) { return read({}, from, before, done); });
}

Status Stream::copy_2d(Address to, Address from, const CopyShape& shape,
                       std::span<Event* const> waits, Event* signal) {
  SHUNT_TRY(check_rows(*to.buffer, to.offset, shape, shape.to_pitch));
  SHUNT_TRY(check_rows(*from.buffer, from.offset, shape, shape.from_pitch));
  return submit_rows(
      shape, waits, signal,
      [&](std::size_t row, std::span<Event* const> before, Event* done) {
        return copy({to.buffer, to.offset + row * shape.to_pitch},
                    {from.buffer, from.offset + row * shape.from_pitch}, shape.bytes, before, done);
      },
      [&](std::span<Event* const> before, Event* done) { return copy(to, from, 0, before, done); });
}

Status copy(Address to, Address from, std::size_t bytes) {
  SHUNT_TRY(check_range(*to.buffer, to.offset, bytes));
  SHUNT_TRY(check_range(*from.buffer, from.offset, bytes));
  if (bytes == 0) return ok();
  if (to.buffer == from.buffer) return copy_through_host(to, from, bytes);
  if (const std::byte* host = from.buffer->host_data()) {
    return to.buffer->write(to.offset, {host + from.offset, bytes});
  }
  // A read-only buffer refuses the write, so Buffer::write() must be called.
  return copy_through_host(to, from, bytes);
}

}  // namespace shunt
