// Calls that a vendor's stream need not override.
#include "backend_support/native_stream.h"

#include "shunt/message.h"

namespace shunt {

Status NativeStream::copy(std::uint64_t, Address, Address, std::size_t) {
  return fail(ErrorCode::kUnsupported, "this stream does not copy from other devices");
}

Status NativeStream::write_2d(std::uint64_t task, Address to, const std::byte* from,
                              const CopyShape& shape) {
  for (std::size_t row = 0; shape.bytes > 0 && row < shape.rows; ++row) {
    SHUNT_TRY(write(task, {to.buffer, to.offset + row * shape.to_pitch},
                    {from + row * shape.from_pitch, shape.bytes}));
  }
  return ok();
}

Status NativeStream::read_2d(std::uint64_t task, std::byte* to, Address from,
                             const CopyShape& shape) {
  for (std::size_t row = 0; shape.bytes > 0 && row < shape.rows; ++row) {
    SHUNT_TRY(read(task, {to + row * shape.to_pitch, shape.bytes},
                   {from.buffer, from.offset + row * shape.from_pitch}));
  }
  return ok();
}

Status NativeStream::copy_2d(std::uint64_t task, Address to, Address from, const CopyShape& shape) {
  for (std::size_t row = 0; shape.bytes > 0 && row < shape.rows; ++row) {
    SHUNT_TRY(copy(task, {to.buffer, to.offset + row * shape.to_pitch},
                   {from.buffer, from.offset + row * shape.from_pitch}, shape.bytes));
  }
  return ok();
}

}  // namespace shunt
