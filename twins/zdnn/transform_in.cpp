// Host data into a tensor's buffer: zdnn_transform_ztensor and its saturating form.
#include <array>
#include <cstdarg>

#include "counts.h"
#include "host_numbers.h"
#include "settings.h"
#include "strict.h"
#include "transform.h"

using namespace zdnn_twin;

namespace {

using HostData = std::array<const void*, 4>;  // a pointer for each gate

zdnn_status check(const zdnn_ztensor* tensor) {
  ZDNN_TWIN_TRY(check_descriptors(tensor));
  const zdnn_data_types type = tensor->pre_transformed_desc->type;
  if (type != FP32 && type != FP16 && type != BFLOAT)
    return refuse(ZDNN_INVALID_TYPE, "host data of type FP32, FP16 or BFLOAT is needed");
  if (tensor->transformed_desc->format == ZDNN_FORMAT_4DWEIGHTS)
    return refuse(ZDNN_INVALID_FORMAT, "4DWEIGHTS is for quantised data");
  if (tensor->transformed_desc->type != ZDNN_DLFLOAT16)
    return refuse(ZDNN_INVALID_TYPE, "only DLFLOAT16 tensors are transformed so");
  ZDNN_TWIN_TRY(check_buffer(*tensor));
  if (tensor->is_transformed)
    return refuse(ZDNN_INVALID_STATE, "the tensor is transformed already");
  return ZDNN_OK;
}

OddSet fill(const zdnn_ztensor& tensor, const HostData& data, std::uint32_t gates, bool saturated) {
  auto* buffer = static_cast<std::byte*>(tensor.buffer);
  const zdnn_data_types type = tensor.pre_transformed_desc->type;
  OddSet odd;
  const std::uint64_t bytes = tensor_bytes(*tensor.transformed_desc);
  if (gates > 1 || tensor.pre_transformed_desc->layout == ZDNN_4DS) {
    // The space between gates, or between directions, is computed with: columns of zeros.
    std::memset(buffer, 0, bytes);
    Sticks(*tensor.transformed_desc).poison_padding(buffer);
  } else {
    poison(buffer, bytes, 2);
  }
  for (std::uint32_t gate = 0; gate < gates; ++gate) {
    for_each_element(tensor, gate, [&](std::uint64_t index, std::uint64_t byte) {
      const Converted number = dlf_of_host(type, data[gate], index, saturated);
      odd.add(number.odd);
      store(buffer, byte, number.pattern);
    });
  }
  return odd;
}

zdnn_status outcome(const zdnn_ztensor& tensor, OddSet odd, bool saturated, bool by_machine) {
  if (fault_is_due(Setting::kFailConversion))
    return refuse(ZDNN_CONVERT_FAILURE, "a fault that was asked for");
  const bool not_finite = odd.has(Odd::kNotANumber) || odd.has(Odd::kInfinite);
  const bool half = tensor.pre_transformed_desc->type == FP16;
  if (by_machine || (saturated && !half)) {
    if (not_finite || odd.has(Odd::kTooLarge))
      return range_violation("host data has numbers that DLFLOAT16 doesn't");
    return ZDNN_OK;
  }
  const bool too_large_fails =
      setting_as<TooLarge>(Setting::kTooLarge) == TooLarge::kConvertFailure;
  if (not_finite || (odd.has(Odd::kTooLarge) && too_large_fails))
    return refuse(ZDNN_CONVERT_FAILURE, "host data has numbers that DLFLOAT16 doesn't");
  return ZDNN_OK;
}

zdnn_status transform(zdnn_ztensor& tensor, const HostData& data, std::uint32_t gates,
                      bool saturated) {
  for (std::uint32_t gate = 0; gate < gates; ++gate)
    if (data[gate] == nullptr) return misuse(ZDNN_INVALID_BUFFER, "there is no host data");
  const bool by_machine = machine_transforms(tensor);
  if (by_machine) ZDNN_TWIN_TRY(begin_on_machine(NNPA_TRANSFORM));
  count(ZDNN_TWIN_TRANSFORMS_IN);
  const OddSet odd = fill(tensor, data, gates, saturated);
  written(tensor);
  const zdnn_status status = outcome(tensor, odd, saturated, by_machine);
  tensor.is_transformed = status == ZDNN_OK || status == ZDNN_ELEMENT_RANGE_VIOLATION;
  return status;
}

}  // namespace

extern "C" {

zdnn_status zdnn_transform_ztensor(zdnn_ztensor* ztensor, ...) {
  std::va_list pointers;
  va_start(pointers, ztensor);
  const zdnn_status result = guarded("zdnn_transform_ztensor", [&]() -> zdnn_status {
    ZDNN_TWIN_TRY(check(ztensor));
    const std::uint32_t gates = gates_of(ztensor->transformed_desc->layout);
    HostData data{};
    for (std::uint32_t gate = 0; gate < gates; ++gate) data[gate] = va_arg(pointers, const void*);
    return transform(*ztensor, data, gates, false);
  });
  va_end(pointers);
  return result;
}

zdnn_status zdnn_transform_ztensor_with_saturation(zdnn_ztensor* ztensor, ...) {
  std::va_list pointers;
  va_start(pointers, ztensor);
  const HostData data{va_arg(pointers, const void*)};
  va_end(pointers);
  return guarded("zdnn_transform_ztensor_with_saturation", [&]() -> zdnn_status {
    ZDNN_TWIN_TRY(check(ztensor));
    if (gates_of(ztensor->transformed_desc->layout) > 1)
      return refuse(ZDNN_INVALID_LAYOUT, "gates are not transformed with saturation");
    return transform(*ztensor, data, 1, true);
  });
}

}  // extern "C"
