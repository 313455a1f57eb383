// One GGUF file, or one part of a file in several, as its bytes say.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gguf/format.h"
#include "shunt/gguf.h"

namespace shunt::gguf {

struct Part {
  std::uint32_t version = 0;
  std::endian order = std::endian::little;
  std::uint64_t alignment = kDefaultAlignment;
  std::vector<KeyValue> metadata;
  std::vector<TensorInfo> tensors;
  std::uint64_t listed_tensors = 0;  ///< those left out included
  std::size_t data_start = 0;
};

/// Reads and checks everything but the tensors' data, whose bytes it doesn't touch. Errors name the
/// place; the caller puts the file in front.
Result<Part> parse_part(std::span<const std::byte> bytes, const ReadOptions& options);

}  // namespace shunt::gguf
