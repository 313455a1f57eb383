// Descriptors and tensors: made, sized, given memory, taken apart.
#include <cstdarg>
#include <cstring>

#include "call.h"
#include "checks.h"
#include "common/pages.h"
#include "layouts.h"
#include "memory.h"
#include "sticks.h"

using namespace zdnn_twin;

namespace {

zdnn_status give_memory(zdnn_ztensor* tensor) {
  if (tensor == nullptr) return misuse(ZDNN_INVALID_BUFFER, "there is no tensor");
  ZDNN_TWIN_TRY(check_transformed(tensor->transformed_desc));
  const std::uint64_t bytes = tensor_bytes(*tensor->transformed_desc);
  void* pages = allocate_pages(bytes);
  if (pages == nullptr) return refuse(ZDNN_ALLOCATION_FAILURE, "there is no memory left");
  tensor->buffer = pages;
  tensor->buffer_size = bytes;
  return ZDNN_OK;
}

}  // namespace

extern "C" {

void zdnn_init_pre_transformed_desc(zdnn_data_layouts layout, zdnn_data_types type,
                                    zdnn_tensor_desc* pre_tfrmd_desc, ...) {
  // As many dimensions as the layout has, outermost first; the others stay as they are.
  std::uint32_t* const dims[] = {&pre_tfrmd_desc->dim4, &pre_tfrmd_desc->dim3,
                                 &pre_tfrmd_desc->dim2, &pre_tfrmd_desc->dim1};
  std::va_list sizes;
  va_start(sizes, pre_tfrmd_desc);
  for (int i = 4 - dimensions_of(layout); i < 4; ++i) *dims[i] = va_arg(sizes, std::uint32_t);
  va_end(sizes);
  pre_tfrmd_desc->layout = layout;
  pre_tfrmd_desc->type = type;
}

zdnn_status zdnn_generate_transformed_desc(const zdnn_tensor_desc* pre_tfrmd_desc,
                                           zdnn_tensor_desc* tfrmd_desc) {
  enter("zdnn_generate_transformed_desc");
  return transformed_desc(*pre_tfrmd_desc, *tfrmd_desc);
}

zdnn_status zdnn_generate_quantized_transformed_desc(const zdnn_tensor_desc* pre_tfrmd_desc,
                                                     zdnn_quantized_transform_types transform_type,
                                                     zdnn_tensor_desc* tfrmd_desc) {
  enter("zdnn_generate_quantized_transformed_desc");
  return quantized_desc(*pre_tfrmd_desc, transform_type, *tfrmd_desc);
}

zdnn_status zdnn_generate_transformed_desc_concatenated(const zdnn_tensor_desc* pre_tfrmd_desc,
                                                        zdnn_concat_info info,
                                                        zdnn_tensor_desc* tfrmd_desc) {
  enter("zdnn_generate_transformed_desc_concatenated");
  return concatenated_desc(*pre_tfrmd_desc, info, *tfrmd_desc);
}

void zdnn_init_ztensor(zdnn_tensor_desc* pre_tfrmd_desc, zdnn_tensor_desc* tfrmd_desc,
                       zdnn_ztensor* output) {
  zdnn_init_quantized_ztensor(pre_tfrmd_desc, tfrmd_desc, 0, 0, output);
}

void zdnn_init_quantized_ztensor(zdnn_tensor_desc* pre_tfrmd_desc, zdnn_tensor_desc* tfrmd_desc,
                                 float scale, float offset, zdnn_ztensor* output) {
  output->pre_transformed_desc = pre_tfrmd_desc;
  output->transformed_desc = tfrmd_desc;
  output->is_transformed = false;
  std::memset(output->reserved, 0, sizeof output->reserved);
  std::memset(output->reserved2, 0, sizeof output->reserved2);
  output->rec_scale = scale != 0 ? 1 / scale : 0;
  output->offset = offset;
}

zdnn_status zdnn_init_ztensor_with_malloc(zdnn_tensor_desc* pre_tfrmd_desc,
                                          zdnn_tensor_desc* tfrmd_desc, zdnn_ztensor* output) {
  enter("zdnn_init_ztensor_with_malloc");
  zdnn_init_ztensor(pre_tfrmd_desc, tfrmd_desc, output);
  return give_memory(output);
}

zdnn_status zdnn_init_quantized_ztensor_with_malloc(zdnn_tensor_desc* pre_tfrmd_desc,
                                                    zdnn_tensor_desc* tfrmd_desc, float scale,
                                                    float offset, zdnn_ztensor* output) {
  enter("zdnn_init_quantized_ztensor_with_malloc");
  zdnn_init_quantized_ztensor(pre_tfrmd_desc, tfrmd_desc, scale, offset, output);
  return give_memory(output);
}

bool zdnn_is_quantized_ztensor(zdnn_ztensor* ztensor) {
  return ztensor->rec_scale != 0;
}

void zdnn_reset_ztensor(zdnn_ztensor* ztensor) {
  ztensor->is_transformed = false;
}

uint64_t zdnn_getsize_ztensor(const zdnn_tensor_desc* tfrmd_desc) {
  return tensor_bytes(*tfrmd_desc);
}

zdnn_status zdnn_allochelper_ztensor(zdnn_ztensor* ztensor) {
  enter("zdnn_allochelper_ztensor");
  return give_memory(ztensor);
}

zdnn_status zdnn_free_ztensor_buffer(const zdnn_ztensor* ztensor) {
  enter("zdnn_free_ztensor_buffer");
  if (ztensor == nullptr || ztensor->buffer == nullptr)
    return refuse(ZDNN_INVALID_BUFFER, "there is no buffer");
  twin::forget_pages(ztensor->buffer, ztensor->buffer_size);
  free_pages(ztensor->buffer);
  return ZDNN_OK;
}

}  // extern "C"
