// Quantised weights on the host: blocks of GGUF, and their numbers and scales apart.
#pragma once

#include <cstddef>
#include <memory>

#include "backend_support/packed_memory.h"
#include "backends/cann/tensor.h"

namespace shunt::cann {

/// A block type of 32 elements and an F16 scale, and the form of its numbers on the device.
struct CodeFormat {
  DType type;
  DataType code;
  std::size_t code_bytes;  ///< of a block
  /// From a block's bytes behind the scale to numbers in the order of the elements, of two's
  /// complement; of 4-bit ones the first is in the low half of a byte.
  void (*split)(const std::byte* block, std::byte* codes);
  void (*join)(const std::byte* codes, std::byte* block);
};
/// Null if the type has none.
const CodeFormat* find_code_format(DType type);

/// Blocks whose numbers are in `memory` from `codes_at` on, and whose scales from `scales_at` on.
std::unique_ptr<PackedTensor> make_rearranged(const CodeFormat& format, std::size_t blocks,
                                              Buffer& memory, std::size_t codes_at,
                                              std::size_t scales_at);

}  // namespace shunt::cann
