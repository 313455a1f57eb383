// A piece of a weight as 8-bit numbers with one scale, symmetric about 0: what the machine's
// quantised products take.
#pragma once

#include "backends/zdnn/host_tensor.h"
#include "shunt/lossy_weights.h"

namespace shunt::zdnn {

/// Bytes of work space that quantize_transposed needs.
std::size_t quantize_bytes(const Dims& dims);

/// Rows of a matrix from `row` on, elements of each from `begin` on, transposed into `to`, which
/// says how many, and gets its scale. What that cost is added to `cost`, as the machine's numbers
/// are once they are there. The library's status; kConvertFailure of numbers that are not finite.
std::uint32_t quantize_transposed(const Symbols& zdnn, const HostTensor& from, std::int64_t row,
                                  std::int64_t begin, std::byte* work, Stick& to, LossyCost& cost);

/// Element (k, n) of a piece.
inline float int8_value(const Stick& piece, std::int64_t k, std::int64_t n) {
  const std::byte byte = piece.buffer()[int8_offset(piece.dims(), k, n)];
  return static_cast<float>(static_cast<std::int8_t>(byte) * piece.scale());
}

}  // namespace shunt::zdnn
