#include "op.h"

#include "checks.h"
#include "counts.h"
#include "host_numbers.h"
#include "machine.h"
#include "machine_call.h"
#include "settings.h"
#include "strict.h"

namespace zdnn_twin {
namespace {

template <class Visit>  // each tensor, until a status is not ZDNN_OK
zdnn_status each_tensor(const Op& op, Visit visit) {
  for (const zdnn_ztensor* input : op.inputs) ZDNN_TWIN_TRY(visit(input));
  for (const zdnn_ztensor* output : op.outputs) ZDNN_TWIN_TRY(visit(output));
  return ZDNN_OK;
}

bool has_bit(std::uint32_t mask, int width, std::uint32_t from_left) {
  return from_left < static_cast<std::uint32_t>(width) &&
         ((mask >> (static_cast<std::uint32_t>(width) - 1 - from_left)) & 1) != 0;
}

// Response codes 0010 to 0014 (Principles of Operation, NNPA, "Response codes").
zdnn_status respond_to_tensor(const zdnn_ztensor* tensor) {
  const zdnn_tensor_desc& desc = *tensor->transformed_desc;
  if (!has_bit(machine().layouts, 32, desc.format))
    return refuse(ZDNN_UNSUPPORTED_FORMAT, "the machine doesn't have this format");
  if (!has_bit(machine().data_types, 16, desc.type))
    return refuse(ZDNN_UNSUPPORTED_TYPE, "the machine doesn't have this type");
  const std::uint32_t dims[] = {desc.dim1, desc.dim2, desc.dim3, desc.dim4};
  for (int i = 0; i < 4; ++i)
    if (dims[i] == 0 || dims[i] > max_for_dim(i + 1))
      return refuse(ZDNN_EXCEEDS_MDIS, "a dimension is 0, or larger than the machine allows");
  if (tensor_bytes(desc) > machine().max_tensor_size)
    return refuse(ZDNN_EXCEEDS_MTS, "a tensor is larger than the machine allows");
  if (!is_page_aligned(tensor->buffer))
    return refuse(ZDNN_MISALIGNED_TENSOR, "a buffer is not at a multiple of 4 KiB");
  // The machine would read and write the memory there.
  if (tensor->buffer == nullptr || tensor->buffer_size < tensor_bytes(desc))
    return misuse(ZDNN_INVALID_BUFFER, "a buffer is missing or too small");
  return ZDNN_OK;
}

}  // namespace

zdnn_status check_available(const Op& op) {
  if (!format_usable(op.format))
    return refuse(ZDNN_UNAVAILABLE_FUNCTION, "the format of parameter block is not installed");
  if (!function_installed(op.function))
    return refuse(ZDNN_UNAVAILABLE_FUNCTION, "the function is not installed");
  return ZDNN_OK;
}

zdnn_status check_present(const Op& op) {
  return each_tensor(op, [](const zdnn_ztensor* tensor) -> zdnn_status {
    if (tensor == nullptr) return misuse(ZDNN_INVALID_BUFFER, "a tensor is missing");
    return expect(tensor->transformed_desc != nullptr, ZDNN_INVALID_SHAPE,
                  "a tensor has no transformed descriptor");
  });
}

zdnn_status check_tensors(const Op& op) {
  ZDNN_TWIN_TRY(each_tensor(op, respond_to_tensor));
  if (op.takes_scratch && !is_page_aligned(op.scratch))
    return refuse(ZDNN_MISALIGNED_SAVEAREA, "the save area is not at a multiple of 4 KiB");
  for (const zdnn_ztensor* input : op.inputs) {
    ZDNN_TWIN_TRY(check_input(*input, input != op.inputs.back() || op.last_input_marked));
    for (const zdnn_ztensor* output : op.outputs) ZDNN_TWIN_TRY(check_overlap(*input, *output));
  }
  return ZDNN_OK;
}

zdnn_status take_scratch(const Op& op, Pages& own) {
  if (!op.takes_scratch || op.scratch != nullptr) return ZDNN_OK;
  own.reset(allocate_pages(op.scratch_bytes));
  if (own == nullptr) return refuse(ZDNN_ALLOCATION_FAILURE, "no memory for the save area");
  return ZDNN_OK;
}

zdnn_status start(const Op& op) {
  ZDNN_TWIN_TRY(begin_on_machine(op.function));
  count(ZDNN_TWIN_OPERATIONS);
  // The machine writes there; so does the twin, that too small an area is noticed.
  if (op.takes_scratch && op.scratch != nullptr)
    poison(static_cast<std::byte*>(op.scratch), op.scratch_bytes, 2);
  return ZDNN_OK;
}

zdnn_status finish(const Op& op, bool out_of_range) {
  if (fault_is_due(Setting::kFailRange)) {
    // As after an overflow in the first element.
    const zdnn_ztensor& first = *op.outputs.front();
    if (first.transformed_desc->type == ZDNN_DLFLOAT16) store(first.buffer, 0, kNinf);
    out_of_range = true;
  }
  for (const zdnn_ztensor* output : op.outputs) {
    Sticks(*output->transformed_desc).poison_padding(static_cast<std::byte*>(output->buffer));
    written(*output);
  }
  // The vendor's library leaves a second output unmarked.
  op.outputs.front()->is_transformed = true;
  return out_of_range ? range_violation("an element is NINF: no number, or too large") : ZDNN_OK;
}

bool same_dims(const zdnn_ztensor* a, const zdnn_ztensor* b) {
  const zdnn_tensor_desc& d = desc_of(b);
  return has_dims(a, d.dim4, d.dim3, d.dim2, d.dim1);
}

bool has_dims(const zdnn_ztensor* tensor, std::uint32_t dim4, std::uint32_t dim3,
              std::uint32_t dim2, std::uint32_t dim1) {
  const zdnn_tensor_desc& d = desc_of(tensor);
  return d.dim4 == dim4 && d.dim3 == dim3 && d.dim2 == dim2 && d.dim1 == dim1;
}

zdnn_status expect_features(Tensors tensors) {
  for (const zdnn_ztensor* tensor : tensors)
    ZDNN_TWIN_TRY(expect(desc_of(tensor).type == ZDNN_DLFLOAT16, ZDNN_INVALID_TYPE,
                         "a tensor is not of type DLFLOAT16"));
  for (const zdnn_ztensor* tensor : tensors)
    ZDNN_TWIN_TRY(expect(desc_of(tensor).format == ZDNN_FORMAT_4DFEATURE, ZDNN_INVALID_FORMAT,
                         "a tensor is not of format 4DFEATURE"));
  return ZDNN_OK;
}

zdnn_status expect_alike(Tensors tensors) {
  for (const zdnn_ztensor* tensor : tensors)
    ZDNN_TWIN_TRY(expect(same_dims(*tensors.begin(), tensor), ZDNN_INVALID_SHAPE,
                         "the tensors' dimensions differ"));
  return expect_features(tensors);
}

}  // namespace zdnn_twin
