#include "gguf/reader.h"

#include <algorithm>

namespace shunt::gguf {
namespace {

Error header_too_large(std::size_t start, std::string_view what) {
  return fail(ErrorCode::kUnsupported,
              "byte {}: {} ends after the first {} MiB, the limit of a header", start, what,
              kMaxHeaderBytes >> 20);
}

}  // namespace

std::size_t Reader::remaining() const {
  return std::min(bytes_.size(), kMaxHeaderBytes) - position_;
}

Error Reader::ends_before(std::uint64_t bytes, std::string_view what, std::size_t start) const {
  const std::size_t left = bytes_.size() - position_;
  if (bytes <= left) return header_too_large(start, what);
  return bad_at(start, "the file is cut off in {}: expected at least {} bytes more, {} remain",
                what, bytes, left);
}

Result<std::span<const std::byte>> Reader::take(std::uint64_t count, std::string_view what) {
  if (count > remaining()) return ends_before(count, what, position_);
  const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
  position_ += taken.size();
  return taken;
}

Result<std::string_view> Reader::read_string(std::string_view what) {
  const std::size_t start = position_;
  SHUNT_ASSIGN(const auto length, read<std::uint64_t>(what));
  if (length > remaining()) return ends_before(length, what, start);
  SHUNT_ASSIGN(const auto bytes, take(length, what));
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::uint64_t> Reader::read_count(std::string_view what, std::size_t least_bytes) {
  const std::size_t start = position_;
  SHUNT_ASSIGN(const auto count, read<std::uint64_t>(what));
  if (count > remaining() / least_bytes) {
    const std::size_t left = bytes_.size() - position_;
    if (count <= left / least_bytes) return header_too_large(start, what);
    return bad_at(start, "{} is {}, but the {} bytes that remain hold at most {}", what, count,
                  left, left / least_bytes);
  }
  return count;
}

}  // namespace shunt::gguf
