// Writes the little-endian bytes of a header, which metadata.h and tensor_list.h read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shunt/gguf.h"

namespace shunt::gguf {

/// Bytes that grow at the end.
class HeaderBytes {
 public:
  std::span<const std::byte> bytes() const { return bytes_; }

  /// The lowest `count` bytes of a number.
  void put_bits(std::uint64_t bits, std::size_t count);
  void put_u32(std::uint32_t value) { put_bits(value, 4); }
  void put_u64(std::uint64_t value) { put_bits(value, 8); }
  void put_text(std::string_view text);
  /// Its length, and the text.
  void put_string(std::string_view text);

  /// Invalid if a value does not match its type, or a number does not fit it.
  Status put_metadata(const KeyValue& entry);
  void put_tensor(const TensorInfo& info);

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace shunt::gguf
