// Walks through the bytes of a file's header and never past them. Every error starts with the byte
// where the thing that is wrong begins; the caller puts the item and the file in front.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "shunt/error.h"
#include "shunt/message.h"
#include "tensor/byte_order.h"

namespace shunt::gguf {

/// Everything before the tensors' data together. The largest known is below 20 MiB (a vocabulary
/// and its merges). The limit keeps a file that claims otherwise from filling the memory with the
/// data that is copied from it.
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{256} << 20;
/// Number of items of a list for which memory is reserved before they are read: the count is the
/// file's claim.
inline constexpr std::uint64_t kMaxReserved = 4096;

/// "byte 512: ..."
template <class... Args>
Error bad_at(std::size_t position, fmt::format_string<Args...> format, Args&&... args) {
  const std::string problem = fmt::vformat(format, fmt::make_format_args(args...));
  return fail(ErrorCode::kBadFile, "byte {}: {}", position, problem);
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  /// Of numbers; little-endian until it is known better.
  std::endian order() const { return order_; }
  void set_order(std::endian order) { order_ = order; }
  /// Bytes to the end of the file, or to where a header must have ended.
  std::size_t remaining() const;

  /// The next `count` bytes; The message names `what` if the file ends before.
  Result<std::span<const std::byte>> take(std::uint64_t count, std::string_view what);

  /// The next number.
  template <std::unsigned_integral T>
  Result<T> read(std::string_view what) {
    SHUNT_ASSIGN(const auto bytes, take(sizeof(T), what));
    return static_cast<T>(load_bits(bytes.data(), sizeof(T), order_));
  }

  /// A length and as many bytes, inside the file's.
  Result<std::string_view> read_string(std::string_view what);

  /// A count of items that take at least `least_bytes` each. They must fit into the remaining
  /// bytes.
  Result<std::uint64_t> read_count(std::string_view what, std::size_t least_bytes);

 private:
  /// The error for `bytes` of `what`, begun at `start`, that are not there: cut off, or more than a
  /// header holds.
  Error ends_before(std::uint64_t bytes, std::string_view what, std::size_t start) const;

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::endian order_ = std::endian::little;
};

}  // namespace shunt::gguf
