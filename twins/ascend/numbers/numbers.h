// Numbers in device memory: how each type is read, and how a result is rounded to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ascend/include/acl/acl_types.h"

namespace ascend_twin {

/// Of an element: 4 for INT4. 0: a type that the twin doesn't have.
unsigned bits_of(aclDataType type);
inline std::uint64_t bytes_of(aclDataType type, std::uint64_t elements) {
  return (elements * bits_of(type) + 7) / 8;
}
bool is_float(aclDataType type);        ///< F64, F32, F16, BF16
bool is_integer(aclDataType type);      ///< INT4 to UINT64, not BOOL
const char* name_of(aclDataType type);  ///< "F16"

/// The type of two tensors' result: F16 with BF16 is F32, an integer with a float the float type,
/// else the wider. ACL_DT_UNDEFINED if they have none.
aclDataType promote(aclDataType a, aclDataType b);

/// Element `index` counted from `base`; of INT4 the even ones are the low nibbles.
double decode(aclDataType type, const std::byte* base, std::uint64_t index);
std::int64_t decode_integer(aclDataType type, const std::byte* base, std::uint64_t index);

/// Beyond the range: infinities, or with `saturates` (310P, 310B) the largest finite number, and
/// zero for NaN. Floats round to nearest, ties to even. A float that becomes an integer is
/// truncated, NaN is 0, and larger numbers are the end of the range.
void encode(aclDataType type, std::byte* base, std::uint64_t index, double value, bool saturates);
void encode_integer(aclDataType type, std::byte* base, std::uint64_t index, std::int64_t value);

/// A value as the type would hold it.
double rounded_to(aclDataType type, double value, bool saturates);
/// The mantissa rounded to this many explicit bits (HF32).
double rounded_to_bits(double value, unsigned bits);

std::uint16_t half_of(double value);  ///< IEEE, infinities beyond the range
double value_of_half(std::uint16_t bits);
std::uint16_t bfloat_of(double value);
double value_of_bfloat(std::uint16_t bits);

}  // namespace ascend_twin
