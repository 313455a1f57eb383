#include "convert/stored_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace shunt {

namespace {

/// In the order of StoredType.
constexpr std::array kStoredTypes = {
    StoredTypeFacts{StoredType::kBool, "BOOL", 1, {}},
    StoredTypeFacts{StoredType::kU8, "U8", 1, {}},
    StoredTypeFacts{StoredType::kI8, "I8", 1, DType::kI8},
    StoredTypeFacts{StoredType::kF8E5M2, "F8_E5M2", 1, {}},
    StoredTypeFacts{StoredType::kF8E4M3, "F8_E4M3", 1, {}},
    StoredTypeFacts{StoredType::kF8E8M0, "F8_E8M0", 1, {}},
    StoredTypeFacts{StoredType::kI16, "I16", 2, DType::kI16},
    StoredTypeFacts{StoredType::kU16, "U16", 2, {}},
    StoredTypeFacts{StoredType::kF16, "F16", 2, DType::kF16},
    StoredTypeFacts{StoredType::kBF16, "BF16", 2, DType::kBF16},
    StoredTypeFacts{StoredType::kI32, "I32", 4, DType::kI32},
    StoredTypeFacts{StoredType::kU32, "U32", 4, {}},
    StoredTypeFacts{StoredType::kF32, "F32", 4, DType::kF32},
    StoredTypeFacts{StoredType::kF64, "F64", 8, DType::kF64},
    StoredTypeFacts{StoredType::kI64, "I64", 8, DType::kI64},
    StoredTypeFacts{StoredType::kU64, "U64", 8, {}},
    StoredTypeFacts{StoredType::kMXFP4, "MXFP4", 0, DType::kMXFP4},
};

float small_float(std::uint8_t bits, int mantissa_bits, int bias) {
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int exponent = (bits & 0x7F) >> mantissa_bits;
  const int one = 1 << mantissa_bits;
  const float magnitude =
      exponent == 0
          ? std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits)
          : std::ldexp(static_cast<float>(one + mantissa), exponent - bias - mantissa_bits);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

}  // namespace

const StoredTypeFacts& facts_of(StoredType type) {
  return kStoredTypes[static_cast<std::size_t>(type)];
}

const StoredTypeFacts* find_stored_type(std::string_view name) {
  const auto* const found = std::ranges::find(kStoredTypes, name, &StoredTypeFacts::name);
  return found == kStoredTypes.end() || found->bytes == 0 ? nullptr : found;
}

float decode_e4m3(std::uint8_t bits) {
  if ((bits & 0x7F) == 0x7F) return std::numeric_limits<float>::quiet_NaN();
  return small_float(bits, 3, 7);
}

float decode_e5m2(std::uint8_t bits) {
  constexpr int kInfinity = 0x7C;
  if ((bits & 0x7F) > kInfinity) return std::numeric_limits<float>::quiet_NaN();
  if ((bits & 0x7F) == kInfinity) {
    const float infinity = std::numeric_limits<float>::infinity();
    return (bits & 0x80) != 0 ? -infinity : infinity;
  }
  return small_float(bits, 2, 15);
}

}  // namespace shunt
