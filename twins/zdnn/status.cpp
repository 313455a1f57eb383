// The texts of the status codes, and the limits of the number formats.
#include <cstdint>
#include <cstring>

#include "call.h"

namespace {

struct Message {
  zdnn_status status;
  const char* text;
};

constexpr Message kMessages[] = {
    {ZDNN_OK, "ZDNN_OK: Success."},
    {ZDNN_ELEMENT_RANGE_VIOLATION,
     "ZDNN_ELEMENT_RANGE_VIOLATION: An element is outside of the range that the operation can "
     "hold."},
    {ZDNN_INVALID_SHAPE, "ZDNN_INVALID_SHAPE: A tensor's dimensions are invalid here."},
    {ZDNN_INVALID_LAYOUT, "ZDNN_INVALID_LAYOUT: A tensor's layout is invalid here."},
    {ZDNN_INVALID_TYPE, "ZDNN_INVALID_TYPE: A tensor's data type is invalid here."},
    {ZDNN_INVALID_FORMAT, "ZDNN_INVALID_FORMAT: A tensor's format is invalid here."},
    {ZDNN_INVALID_DIRECTION, "ZDNN_INVALID_DIRECTION: There is no such direction."},
    {ZDNN_INVALID_CONCAT_INFO,
     "ZDNN_INVALID_CONCAT_INFO: Tensors can't be concatenated like this."},
    {ZDNN_INVALID_STRIDE_PADDING,
     "ZDNN_INVALID_STRIDE_PADDING: The padding is invalid with these strides."},
    {ZDNN_INVALID_STRIDES, "ZDNN_INVALID_STRIDES: A stride is invalid."},
    {ZDNN_MISALIGNED_PARMBLOCK,
     "ZDNN_MISALIGNED_PARMBLOCK: The parameter block is not at a multiple of 8 bytes."},
    {ZDNN_INVALID_CLIPPING_VALUE, "ZDNN_INVALID_CLIPPING_VALUE: A clipping value is invalid."},
    {ZDNN_INVALID_ADJUSTMENT_FACTOR,
     "ZDNN_INVALID_ADJUSTMENT_FACTOR: The adjustment factor is invalid."},
    {ZDNN_INVALID_EPSILON, "ZDNN_INVALID_EPSILON: The epsilon is invalid."},
    {ZDNN_INVALID_TRANSFORM_TYPE, "ZDNN_INVALID_TRANSFORM_TYPE: The kind of transform is invalid."},
    {ZDNN_INVALID_BETA, "ZDNN_INVALID_BETA: The beta is invalid."},
    {ZDNN_INVALID_GAMMA, "ZDNN_INVALID_GAMMA: The gamma is invalid."},
    {ZDNN_INVALID_BESSEL_CORRECTION,
     "ZDNN_INVALID_BESSEL_CORRECTION: The Bessel correction is invalid."},
    {ZDNN_INVALID_SCALE, "ZDNN_INVALID_SCALE: A scale is invalid."},
    {ZDNN_INVALID_OFFSET, "ZDNN_INVALID_OFFSET: An offset is invalid."},
    {ZDNN_ALLOCATION_FAILURE, "ZDNN_ALLOCATION_FAILURE: There is no memory left."},
    {ZDNN_INVALID_BUFFER,
     "ZDNN_INVALID_BUFFER: A buffer is missing, too small, or not at a multiple of 4 KiB."},
    {ZDNN_CONVERT_FAILURE, "ZDNN_CONVERT_FAILURE: A number can't be converted."},
    {ZDNN_INVALID_STATE, "ZDNN_INVALID_STATE: A tensor is, or is not, transformed."},
    {ZDNN_UNSUPPORTED_AIU_EXCEPTION,
     "ZDNN_UNSUPPORTED_AIU_EXCEPTION: The machine reports an exception that is not expected."},
    {ZDNN_UNSUPPORTED_PARMBLOCK,
     "ZDNN_UNSUPPORTED_PARMBLOCK: The machine doesn't know this format of parameter block."},
    {ZDNN_UNAVAILABLE_FUNCTION,
     "ZDNN_UNAVAILABLE_FUNCTION: The machine doesn't have this function."},
    {ZDNN_UNSUPPORTED_FORMAT,
     "ZDNN_UNSUPPORTED_FORMAT: The machine doesn't know a tensor's format."},
    {ZDNN_UNSUPPORTED_TYPE,
     "ZDNN_UNSUPPORTED_TYPE: The machine doesn't know a tensor's data type."},
    {ZDNN_EXCEEDS_MDIS, "ZDNN_EXCEEDS_MDIS: A dimension is beyond the machine's limit."},
    {ZDNN_EXCEEDS_MTS, "ZDNN_EXCEEDS_MTS: A tensor is larger than the machine's limit."},
    {ZDNN_MISALIGNED_TENSOR, "ZDNN_MISALIGNED_TENSOR: A tensor is not at a multiple of 4 KiB."},
    {ZDNN_MISALIGNED_SAVEAREA,
     "ZDNN_MISALIGNED_SAVEAREA: A save area is not at a multiple of 4 KiB."},
    {ZDNN_FUNC_RC_F000, "ZDNN_FUNC_RC_F000: The function's response code F000."},
    {ZDNN_FUNC_RC_F001, "ZDNN_FUNC_RC_F001: The function's response code F001."},
    {ZDNN_FUNC_RC_F002, "ZDNN_FUNC_RC_F002: The function's response code F002."},
    {ZDNN_FUNC_RC_F003, "ZDNN_FUNC_RC_F003: The function's response code F003."},
    {ZDNN_FUNC_RC_F004, "ZDNN_FUNC_RC_F004: The function's response code F004."},
    {ZDNN_FUNC_RC_F005, "ZDNN_FUNC_RC_F005: The function's response code F005."},
    {ZDNN_FUNC_RC_F006, "ZDNN_FUNC_RC_F006: The function's response code F006."},
    {ZDNN_FUNC_RC_F007, "ZDNN_FUNC_RC_F007: The function's response code F007."},
    {ZDNN_FUNC_RC_F008, "ZDNN_FUNC_RC_F008: The function's response code F008."},
    {ZDNN_FUNC_RC_F009, "ZDNN_FUNC_RC_F009: The function's response code F009."},
};

// Limits as patterns of the host's type.
struct Limit {
  zdnn_data_types transformed, pre;
  std::uint32_t max, min;
  std::size_t size;
};

constexpr Limit kLimits[] = {
    {ZDNN_DLFLOAT16, FP32, 0x4FFF8000, 0xCFFF8000, 4},
    {ZDNN_DLFLOAT16, BFLOAT, 0x4FFF, 0xCFFF, 2},
    {ZDNN_DLFLOAT16, FP16, 0x7BFF, 0xFBFF, 2},
    {ZDNN_BINARY_INT8, INT8, 127, 0x80, 1},
    {ZDNN_BINARY_INT8, FP32, 0x42FE0000, 0xC3000000, 4},
    {ZDNN_BINARY_INT8, FP16, 0x57F0, 0xD800, 2},
    {ZDNN_BINARY_INT8, BFLOAT, 0x42FE, 0xC300, 2},
    {ZDNN_BINARY_INT32, INT32, 0x7FFFFFFF, 0x80000000, 4},
};

zdnn_status limit_of(zdnn_data_types transformed, zdnn_data_types pre, std::uint32_t Limit::*which,
                     void* out) {
  for (const Limit& limit : kLimits) {
    if (limit.transformed != transformed || limit.pre != pre) continue;
    // A narrower type's own bytes, whichever way round the machine has them.
    const std::uint32_t whole = limit.*which;
    const auto half = static_cast<std::uint16_t>(whole);
    const auto byte = static_cast<std::uint8_t>(whole);
    const void* from = limit.size == 4   ? static_cast<const void*>(&whole)
                       : limit.size == 2 ? static_cast<const void*>(&half)
                                         : static_cast<const void*>(&byte);
    std::memcpy(out, from, limit.size);
    return ZDNN_OK;
  }
  return zdnn_twin::refuse(ZDNN_INVALID_TYPE, "there is no limit for this pair of types");
}

}  // namespace

extern "C" {

const char* zdnn_get_status_message(zdnn_status status) {
  for (const Message& message : kMessages)
    if (message.status == status) return message.text;
  return "(Status string is not defined.)";
}

zdnn_status zdnn_get_max_limit(zdnn_data_types transformed_type,
                               zdnn_data_types pre_transformed_type, void* limit) {
  zdnn_twin::enter("zdnn_get_max_limit");
  return limit_of(transformed_type, pre_transformed_type, &Limit::max, limit);
}

zdnn_status zdnn_get_min_limit(zdnn_data_types transformed_type,
                               zdnn_data_types pre_transformed_type, void* limit) {
  zdnn_twin::enter("zdnn_get_min_limit");
  return limit_of(transformed_type, pre_transformed_type, &Limit::min, limit);
}

}  // extern "C"
