// A piece of a weight as 8-bit numbers with one scale, symmetric about 0: what the machine's
// quantised products take.
#pragma once

#include "backend_support/int8_weights.h"
#include "backends/zdnn/stick.h"

namespace shunt::zdnn {

/// Bytes of work space that quantize_transposed needs.
std::size_t quantize_bytes(const Dims& dims);

/// A part of a matrix, transposed into `to`, which gets its scale. What that cost is added to
/// `cost`, as the machine's numbers are once they are there. The library's status; kConvertFailure
/// where there is no scale: then the product is computed plainly.
std::uint32_t quantize_transposed(const Symbols& zdnn, const HostTensor& from,
                                  const MatrixPart& part, std::byte* work, Stick& to,
                                  LossyCost& cost);

/// Element (k, n) of a piece.
inline float int8_value(const Stick& piece, std::int64_t k, std::int64_t n) {
  const std::byte byte = piece.buffer()[int8_offset(piece.dims(), k, n)];
  return static_cast<float>(static_cast<std::int8_t>(byte) * piece.scale());
}

}  // namespace shunt::zdnn
