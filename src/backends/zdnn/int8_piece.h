// A piece of a weight as 8-bit numbers with one scale, symmetric about 0. This is the operand of
// the machine's quantised products.
#pragma once

#include "backend_support/int8_weights.h"
#include "backends/zdnn/stick.h"

namespace shunt::zdnn {

/// Bytes of work space that quantize_transposed needs.
std::size_t quantize_bytes(const Dims& dims);

/// Transposes a part of a matrix into `to`, which gets its scale. Adds the loss to `cost`, computed
/// from the machine's numbers once they are there. Returns the library's status. kConvertFailure:
/// there is no scale, and the product is computed plainly.
std::uint32_t quantize_transposed(const Symbols& zdnn, const HostTensor& from,
                                  const MatrixPart& part, std::byte* work, Stick& to,
                                  LossyCost& cost);

/// Element (k, n) of a piece.
inline float int8_value(const Stick& piece, std::int64_t k, std::int64_t n) {
  const std::byte byte = piece.buffer()[int8_offset(piece.dims(), k, n)];
  return static_cast<float>(static_cast<std::int8_t>(byte) * piece.scale());
}

}  // namespace shunt::zdnn
