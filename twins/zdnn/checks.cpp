#include "checks.h"

#include <algorithm>
#include <array>

#include "call.h"
#include "layouts.h"
#include "machine.h"
#include "sticks.h"

namespace zdnn_twin {
namespace {

// The layouts and types of each format ("zDNN Data Formats" and the following).
struct Format {
  zdnn_data_formats format;
  zdnn_data_layouts layout;
  bool gates;  // and layouts of gates
  std::array<zdnn_data_types, 3> types;
};
constexpr Format kFormats[] = {
    {ZDNN_FORMAT_4DFEATURE, ZDNN_NHWC, true, {ZDNN_DLFLOAT16, ZDNN_BINARY_INT8, ZDNN_BINARY_INT32}},
    {ZDNN_FORMAT_4DKERNEL, ZDNN_HWCK, false, {ZDNN_DLFLOAT16, ZDNN_DLFLOAT16, ZDNN_DLFLOAT16}},
    {ZDNN_FORMAT_4DWEIGHTS,
     ZDNN_NHWC,
     false,
     {ZDNN_BINARY_INT8, ZDNN_BINARY_INT8, ZDNN_BINARY_INT8}},
};

zdnn_status check_kind(const zdnn_tensor_desc& desc) {
  for (const Format& known : kFormats) {
    if (known.format != desc.format) continue;
    const bool gates = known.gates && gates_of(desc.layout) > 1;
    if (desc.layout != known.layout && !gates)
      return refuse(ZDNN_INVALID_LAYOUT, "a tensor of this format doesn't have this layout");
    if (std::find(known.types.begin(), known.types.end(), desc.type) == known.types.end())
      return refuse(ZDNN_INVALID_TYPE, "a tensor of this format doesn't have this type");
    return ZDNN_OK;
  }
  return refuse(ZDNN_INVALID_FORMAT, "a transformed tensor doesn't have this format");
}

zdnn_status check_size(const zdnn_tensor_desc& desc) {
  if (!machine().installed)
    return refuse(ZDNN_UNSUPPORTED_AIU_EXCEPTION, "there is no such machine: its limits are zero");
  const std::uint32_t dims[] = {desc.dim1, desc.dim2, desc.dim3, desc.dim4};
  for (int i = 0; i < 4; ++i) {
    if (dims[i] == 0) return refuse(ZDNN_INVALID_SHAPE, "a dimension is 0");
    if (dims[i] > max_for_dim(i + 1))
      return refuse(ZDNN_INVALID_SHAPE, "a dimension is larger than the machine allows");
  }
  if (tensor_bytes(desc) > machine().max_tensor_size)
    return refuse(ZDNN_INVALID_SHAPE, "the tensor is larger than the machine allows");
  return ZDNN_OK;
}

// The vendor's library doesn't compare the two: it would read or write past the end, or leave cells
// as they were.
zdnn_status check_pair(const zdnn_tensor_desc& pre, const zdnn_tensor_desc& desc) {
  zdnn_tensor_desc host{};
  ZDNN_TWIN_TRY(dims_like(pre, desc, host));
  const bool fits = host.dim4 <= desc.dim4 && host.dim3 <= desc.dim3 && host.dim2 <= desc.dim2 &&
                    host.dim1 <= desc.dim1;
  if (!fits) return misuse(ZDNN_INVALID_SHAPE, "the host's data is larger than the tensor");
  if (host.dim4 != desc.dim4 || host.dim3 != desc.dim3 || host.dim2 != desc.dim2 ||
      host.dim1 != desc.dim1)
    return object(ZDNN_INVALID_SHAPE, "the host's data is smaller than the tensor");
  return ZDNN_OK;
}

}  // namespace

zdnn_status check_transformed(const zdnn_tensor_desc* desc) {
  if (desc == nullptr) return misuse(ZDNN_INVALID_SHAPE, "there is no descriptor");
  ZDNN_TWIN_TRY(check_kind(*desc));
  return check_size(*desc);
}

zdnn_status check_descriptors(const zdnn_ztensor* tensor) {
  if (tensor == nullptr) return misuse(ZDNN_INVALID_BUFFER, "there is no tensor");
  if (tensor->pre_transformed_desc == nullptr || tensor->transformed_desc == nullptr)
    return misuse(ZDNN_INVALID_SHAPE, "there is no descriptor");
  const zdnn_tensor_desc& pre = *tensor->pre_transformed_desc;
  const zdnn_tensor_desc& transformed = *tensor->transformed_desc;
  if (dimensions_of(pre.layout) == 0)
    return refuse(ZDNN_INVALID_LAYOUT, "the host's descriptor doesn't have a layout of host data");
  if (!is_host_type(pre.type))
    return refuse(ZDNN_INVALID_TYPE, "the host's descriptor doesn't have a type of host data");
  ZDNN_TWIN_TRY(check_kind(transformed));
  const bool kernel = transformed.format == ZDNN_FORMAT_4DKERNEL;
  if (kernel != (pre.layout == ZDNN_HWCK))
    return refuse(ZDNN_INVALID_LAYOUT, "HWCK goes with HWCK only");
  ZDNN_TWIN_TRY(check_size(transformed));
  return check_pair(pre, transformed);
}

bool is_page_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kPage == 0;
}

zdnn_status check_buffer(const zdnn_ztensor& tensor) {
  if (tensor.buffer == nullptr) return refuse(ZDNN_INVALID_BUFFER, "there is no buffer");
  if (!is_page_aligned(tensor.buffer))
    return refuse(ZDNN_INVALID_BUFFER, "the buffer is not at a multiple of 4 KiB");
  if (tensor.buffer_size < tensor_bytes(*tensor.transformed_desc))
    return refuse(ZDNN_INVALID_BUFFER, "the buffer is too small");
  return ZDNN_OK;
}

}  // namespace zdnn_twin
