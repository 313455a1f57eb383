// Which chip has which operator with which types, and the code where it has not. The rows are in
// support.inc, the one file that a run on hardware corrects: no check of an operator repeats them.
#pragma once

#include <cstdint>
#include <string_view>

#include "ascend/include/acl/acl_types.h"

namespace ascend_twin {

/// The code of phase 1 for this operator ("Add") with this type of its first input, as SUPPORT and
/// PROFILE are set; ACL_SUCCESS if the chip has it. An operator without a row is not there: 561103.
/// Limits beyond the first input's type (type of the result, shapes) are checked by the operator.
std::int32_t support_of(std::string_view op, aclDataType type);

/// Letters of types in support.inc: f F32, h F16, b BF16, d F64, i INT32, l INT64, s INT16, c INT8,
/// u UINT8, o BOOL, 4 INT4. 0 for another type.
char letter_of(aclDataType type);

/// A number that is not verified, by name ("matmul fixed workspace"); its value is in
/// support.inc with the reason.
std::int64_t unknown(std::string_view name);

/// When aclSetAclOpExecutorRepeatable answers 561000 (facts C).
enum class Unrepeatable : std::uint8_t {
  kNever,
  kAlways,
  kOntoItself,   ///< the first two tensors are one memory
  kWithIntegers  ///< an array of integers is copied to the device
};
Unrepeatable unrepeatable(std::string_view op);

}  // namespace ascend_twin
