// Host data into a quantised tensor: zdnn_transform_quantized_ztensor.
#include "counts.h"
#include "host_numbers.h"
#include "quantize.h"
#include "settings.h"
#include "strict.h"
#include "transform.h"

using namespace zdnn_twin;

namespace {

// The allowed conversions ("Quantized zTensor Requirements"), and who does them.
struct Kind {
  zdnn_data_formats format;
  zdnn_data_types type;
  zdnn_data_types pre;
  bool by_machine;
};
constexpr Kind kKinds[] = {
    {ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, FP32, true},
    {ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, FP16, false},
    {ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, BFLOAT, false},
    {ZDNN_FORMAT_4DFEATURE, ZDNN_BINARY_INT8, FP32, true},
    {ZDNN_FORMAT_4DFEATURE, ZDNN_BINARY_INT8, FP16, false},
    {ZDNN_FORMAT_4DFEATURE, ZDNN_BINARY_INT8, BFLOAT, false},
    {ZDNN_FORMAT_4DFEATURE, ZDNN_BINARY_INT8, INT8, false},
    {ZDNN_FORMAT_4DWEIGHTS, ZDNN_BINARY_INT8, INT8, false},
};

const Kind* kind_of(const zdnn_ztensor& tensor) {
  for (const Kind& kind : kKinds)
    if (kind.format == tensor.transformed_desc->format &&
        kind.type == tensor.transformed_desc->type && kind.pre == tensor.pre_transformed_desc->type)
      return &kind;
  return nullptr;
}

zdnn_status check(const zdnn_ztensor* tensor) {
  if (tensor == nullptr) return misuse(ZDNN_INVALID_BUFFER, "there is no tensor");
  if (tensor->pre_transformed_desc == nullptr || tensor->transformed_desc == nullptr)
    return misuse(ZDNN_INVALID_SHAPE, "there is no descriptor");
  ZDNN_TWIN_TRY(check_buffer(*tensor));
  if (tensor->is_transformed)
    return refuse(ZDNN_INVALID_STATE, "the tensor is transformed already");
  const zdnn_data_layouts layout = tensor->pre_transformed_desc->layout;
  if (layout == ZDNN_4DS || layout == ZDNN_NCHW || layout == ZDNN_HWCK)
    return refuse(ZDNN_INVALID_LAYOUT, "this layout can't be quantised");
  ZDNN_TWIN_TRY(check_descriptors(tensor));
  if (tensor->transformed_desc->layout != ZDNN_NHWC)
    return refuse(ZDNN_INVALID_LAYOUT, "only NHWC tensors are quantised");
  if (kind_of(*tensor) == nullptr)
    return refuse(ZDNN_INVALID_TYPE, "host data of this type can't become this");
  return ZDNN_OK;
}

OddSet fill_dlf(const zdnn_ztensor& tensor, const void* data, bool saturated) {
  const zdnn_data_types type = tensor.pre_transformed_desc->type;
  OddSet odd;
  for_each_element(tensor, 0, [&](std::uint64_t index, std::uint64_t byte) {
    const Converted number = dlf_of_host(type, data, index, saturated);
    odd.add(number.odd);
    store(tensor.buffer, byte, number.pattern);
  });
  return odd;
}

OddSet fill_int8(const zdnn_ztensor& tensor, const void* data, const Quantizer& quantizer) {
  const zdnn_data_types type = tensor.pre_transformed_desc->type;
  OddSet odd;
  for_each_element(tensor, 0, [&](std::uint64_t index, std::uint64_t byte) {
    double x = 0;
    if (type == FP32) {
      x = static_cast<double>(load<float>(data, 4 * index));
      odd.add(std::isnan(x) ? Odd::kNotANumber : std::isinf(x) ? Odd::kInfinite : Odd::kNothing);
    } else {
      const Converted number = dlf_of_host(type, data, index);
      odd.add(number.odd);
      x = double_from_dlf(number.pattern);
    }
    store(tensor.buffer, byte, quantizer(x));
  });
  return odd;
}

void copy_int8(const zdnn_ztensor& tensor, const void* data) {
  for_each_element(tensor, 0, [&](std::uint64_t index, std::uint64_t byte) {
    store(tensor.buffer, byte, load<std::int8_t>(data, index));
  });
}

zdnn_status outcome(OddSet odd, bool by_machine) {
  if (fault_is_due(Setting::kFailConversion))
    return refuse(ZDNN_CONVERT_FAILURE, "a fault that was asked for");
  const bool not_finite = odd.has(Odd::kNotANumber) || odd.has(Odd::kInfinite);
  if (by_machine && (not_finite || odd.has(Odd::kTooLarge)))
    return range_violation("host data has numbers that the tensor's type doesn't");
  const bool too_large_fails =
      setting_as<TooLarge>(Setting::kTooLarge) == TooLarge::kConvertFailure;
  if (not_finite || (odd.has(Odd::kTooLarge) && too_large_fails))
    return refuse(ZDNN_CONVERT_FAILURE, "host data has numbers that the tensor's type doesn't");
  return ZDNN_OK;
}

}  // namespace

zdnn_status zdnn_transform_quantized_ztensor(zdnn_ztensor* ztensor, bool saturation_control,
                                             int8_t clip_min, int8_t clip_max, const void* data) {
  return guarded("zdnn_transform_quantized_ztensor", [&]() -> zdnn_status {
    ZDNN_TWIN_TRY(check(ztensor));
    if (data == nullptr) return misuse(ZDNN_INVALID_BUFFER, "there is no host data");
    const Kind kind = *kind_of(*ztensor);
    const bool rounds = kind.type == ZDNN_BINARY_INT8 && kind.pre != INT8;
    if (kind.by_machine && !(format_usable(1) && function_installed(NNPA_TRANSFORM)))
      return refuse(ZDNN_UNAVAILABLE_FUNCTION, "FP32 is quantised by the machine, or not at all");
    if (rounds && clip_min >= clip_max)
      return refuse(ZDNN_INVALID_CLIPPING_VALUE, "the lower one is not below the upper one");
    const Quantizer quantizer =
        kind.by_machine ? Quantizer::of_machine(*ztensor, clip_min, clip_max)
                        : Quantizer{static_cast<double>(ztensor->rec_scale),
                                    static_cast<double>(ztensor->offset), clip_min, clip_max};
    if (rounds && !quantizer.usable())
      return refuse(ZDNN_FUNC_RC_F001, "scale or offset is no number, or the scale is 0");
    if (kind.by_machine) ZDNN_TWIN_TRY(begin_on_machine(NNPA_TRANSFORM));
    count(ZDNN_TWIN_TRANSFORMS_IN);

    const Sticks sticks(*ztensor->transformed_desc);
    poison(static_cast<std::byte*>(ztensor->buffer), tensor_bytes(*ztensor->transformed_desc),
           sticks.cell_bytes());
    OddSet odd;
    if (kind.type == ZDNN_DLFLOAT16) {
      odd = fill_dlf(*ztensor, data, saturation_control && kind.pre == FP32);
    } else if (rounds) {
      odd = fill_int8(*ztensor, data, quantizer);
    } else {
      copy_int8(*ztensor, data);
    }
    written(*ztensor);
    const zdnn_status status = outcome(odd, kind.by_machine);
    ztensor->is_transformed = status == ZDNN_OK || status == ZDNN_ELEMENT_RANGE_VIOLATION;
    return status;
  });
}
