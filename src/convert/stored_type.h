// Element types of safetensors files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "shunt/tensor.h"

namespace shunt {

enum class StoredType : std::uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kF64,
  kI64,
  kU64,
  kMXFP4,  ///< a pair of tensors: numbers of 4 bits, and a scale for each 32 of them
};

struct StoredTypeFacts {
  StoredType type;
  std::string_view name;  ///< in the header of a file
  std::size_t bytes;      ///< of an element
  /// The type of GGUF with the same elements; none: there is none.
  std::optional<DType> dtype;
};

const StoredTypeFacts& facts_of(StoredType type);
/// Null for an unknown name.
const StoredTypeFacts* find_stored_type(std::string_view name);

/// The number of an 8-bit float: 1 sign, 4 exponent and 3 mantissa bits, without infinities
/// (arXiv 2209.05433).
float decode_e4m3(std::uint8_t bits);
/// 1 sign, 5 exponent and 2 mantissa bits.
float decode_e5m2(std::uint8_t bits);

}  // namespace shunt
