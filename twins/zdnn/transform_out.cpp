// A tensor's buffer back into host data: zdnn_transform_origtensor; and its range:
// zdnn_getrange_ztensor.
#include "counts.h"
#include "host_numbers.h"
#include "settings.h"
#include "strict.h"
#include "transform.h"

using namespace zdnn_twin;

namespace {

zdnn_status check(const zdnn_ztensor* tensor, bool floats_only) {
  ZDNN_TWIN_TRY(check_descriptors(tensor));
  const zdnn_tensor_desc& desc = *tensor->transformed_desc;
  if (desc.format != ZDNN_FORMAT_4DFEATURE)
    return refuse(ZDNN_INVALID_FORMAT, "only 4DFEATURE tensors are transformed back");
  if (desc.layout != ZDNN_NHWC)
    return refuse(ZDNN_INVALID_LAYOUT, "only NHWC tensors are transformed back");
  const zdnn_data_types type = tensor->pre_transformed_desc->type;
  const bool floats =
      desc.type == ZDNN_DLFLOAT16 && (type == FP32 || type == FP16 || type == BFLOAT);
  const bool integers = desc.type == ZDNN_BINARY_INT32 && type == INT32 && !floats_only;
  if (!floats && !integers)
    return refuse(ZDNN_INVALID_TYPE, "DLFLOAT16 goes to FP32, FP16, BFLOAT; INT32 to INT32");
  ZDNN_TWIN_TRY(check_buffer(*tensor));
  if (!tensor->is_transformed) return refuse(ZDNN_INVALID_STATE, "the tensor is not transformed");
  return check_input(*tensor);
}

OddSet copy_out(const zdnn_ztensor& tensor, void* out) {
  const auto* buffer = static_cast<const std::byte*>(tensor.buffer);
  const zdnn_data_types type = tensor.pre_transformed_desc->type;
  OddSet odd;
  for_each_element(tensor, 0, [&](std::uint64_t index, std::uint64_t byte) {
    if (type == INT32) {
      store(out, 4 * index, load<std::uint32_t>(buffer, byte));
    } else {
      odd.add(dlf_to_host(type, load<std::uint16_t>(buffer, byte), out, index));
    }
  });
  return odd;
}

}  // namespace

extern "C" {

zdnn_status zdnn_transform_origtensor(const zdnn_ztensor* ztensor, void* out_buf) {
  return guarded("zdnn_transform_origtensor", [&]() -> zdnn_status {
    ZDNN_TWIN_TRY(check(ztensor, false));
    if (out_buf == nullptr) return misuse(ZDNN_INVALID_BUFFER, "there is no host memory");
    const bool by_machine = machine_transforms(*ztensor);
    if (by_machine) ZDNN_TWIN_TRY(begin_on_machine(NNPA_TRANSFORM));
    count(ZDNN_TWIN_TRANSFORMS_OUT);
    const OddSet odd = copy_out(*ztensor, out_buf);
    if (fault_is_due(Setting::kFailConversion))
      return refuse(ZDNN_CONVERT_FAILURE, "a fault that was asked for");
    if (!odd.has(Odd::kNotANumber) && !odd.has(Odd::kTooLarge)) return ZDNN_OK;
    return by_machine ? range_violation("the tensor has elements that are no numbers")
                      : refuse(ZDNN_CONVERT_FAILURE,
                               "the tensor has elements that the host's type hasn't");
  });
}

zdnn_status zdnn_getrange_ztensor(const zdnn_ztensor* ztensor, float* min, float* max) {
  return guarded("zdnn_getrange_ztensor", [&]() -> zdnn_status {
    ZDNN_TWIN_TRY(check(ztensor, true));
    const auto* buffer = static_cast<const std::byte*>(ztensor->buffer);
    // Patterns of either sign grow with the magnitude; both begin at a zero.
    std::uint16_t lowest = 0x8000;
    std::uint16_t highest = 0;
    for_each_element(*ztensor, 0, [&](std::uint64_t, std::uint64_t byte) {
      const auto dlf = load<std::uint16_t>(buffer, byte);
      std::uint16_t& extreme = (dlf & 0x8000) != 0 ? lowest : highest;
      if (dlf > extreme) extreme = dlf;
    });
    *min = float_from_dlf(lowest);
    *max = float_from_dlf(highest);
    return ZDNN_OK;
  });
}

}  // extern "C"
