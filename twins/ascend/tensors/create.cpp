// Tensors: made, destroyed, asked about.
#include <algorithm>

#include "ascend/call.h"
#include "ascend/include/acl/acl_tensor.h"
#include "ascend/resets.h"
#include "ascend/tensors/objects.h"

namespace ascend_twin {
namespace {

/// The real function checks almost nothing: errors show in phase 1.
Status fill(View& view, const int64_t* dims, uint64_t rank, aclDataType type,
            const int64_t* strides, int64_t offset, aclFormat format, const int64_t* storage,
            uint64_t storage_rank, void* data) {
  if ((dims == nullptr && rank != 0) || (storage == nullptr && storage_rank != 0))
    return refuse(ACLNN_ERR_PARAM_NULLPTR, "no tensor without dimensions");
  if (bits_of(type) == 0)
    return refuse(ACLNN_ERR_PARAM_INVALID, "no tensor of type " + std::to_string(type));
  View made;
  made.type = type;
  made.format = format;
  made.shape.assign(dims, dims + rank);
  made.strides =
      strides == nullptr ? contiguous_strides(made.shape) : Shape(strides, strides + rank);
  made.offset = offset;
  made.storage.assign(storage, storage + storage_rank);
  made.base = data;
  view = std::move(made);
  return ACL_SUCCESS;
}

/// The body of a function that reads a tensor.
template <class Result, class Read>
aclnnStatus ask(const char* function, const aclTensor* tensor, Result* result, Read read) {
  return call(function, Need::kNothing, [&]() -> Status {
    if (tensor == nullptr || result == nullptr)
      return refuse(ACLNN_ERR_PARAM_NULLPTR, "the tensor or the result's pointer is null");
    const auto found = descriptors().tensors.find(tensor);
    if (found == nullptr) return refuse(ACLNN_ERR_PARAM_INVALID, "the tensor is destroyed or none");
    *result = read(found->view);
    return ACL_SUCCESS;
  });
}

aclnnStatus ask_for_numbers(const char* function, const aclTensor* tensor, int64_t** result,
                            uint64_t* count, const Shape View::*numbers) {
  return call(function, Need::kNothing, [&]() -> Status {
    if (tensor == nullptr || result == nullptr || count == nullptr)
      return refuse(ACLNN_ERR_PARAM_NULLPTR, "the tensor or a result's pointer is null");
    const auto found = descriptors().tensors.find(tensor);
    if (found == nullptr) return refuse(ACLNN_ERR_PARAM_INVALID, "the tensor is destroyed or none");
    const Shape& values = found->view.*numbers;
    *result = new int64_t[values.size()];
    std::copy(values.begin(), values.end(), *result);
    *count = values.size();
    return ACL_SUCCESS;
  });
}

const AtReset drop_descriptors([] {
  descriptors().tensor_lists.clear();
  descriptors().scalar_lists.clear();
  descriptors().tensors.clear();
  descriptors().scalars.clear();
  descriptors().int_arrays.clear();
  descriptors().float_arrays.clear();
  descriptors().bool_arrays.clear();
});

}  // namespace

Descriptors& descriptors() {
  static auto* all = new Descriptors;  // no destructor runs at exit
  return *all;
}

}  // namespace ascend_twin

using namespace ascend_twin;

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t offset, aclFormat format,
                           const int64_t* storageDims, uint64_t storageDimsNum, void* data) {
  aclTensor* handle = nullptr;
  call("aclCreateTensor", Need::kNothing, [&]() -> Status {
    auto made = std::make_shared<aclTensor>();
    ASCEND_TWIN_TRY(fill(made->view, viewDims, viewDimsNum, dataType, stride, offset, format,
                         storageDims, storageDimsNum, data));
    handle = descriptors().tensors.add(std::move(made));
    return ACL_SUCCESS;
  });
  return handle;
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum,
                          aclDataType dataType, const int64_t* stride, int64_t offset,
                          aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                          void* data) {
  return call("aclInitTensor", Need::kNothing, [&]() -> Status {
    if (tensor == nullptr) return refuse(ACLNN_ERR_PARAM_NULLPTR, "the tensor is null");
    const auto found = descriptors().tensors.find(tensor);
    if (found == nullptr) return refuse(ACLNN_ERR_PARAM_INVALID, "the tensor is destroyed or none");
    return fill(found->view, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims,
                storageDimsNum, data);
  });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  return call("aclDestroyTensor", Need::kNothing, [&]() -> Status {
    if (tensor == nullptr) return ACL_SUCCESS;
    const auto found = descriptors().tensors.remove(tensor);
    if (found == nullptr)
      return object(ACLNN_ERR_PARAM_INVALID, "the tensor was destroyed before, or is none");
    if (found->in_list)
      return object(ACLNN_ERR_PARAM_INVALID, "a list owns the tensor, and destroys it again");
    return ACL_SUCCESS;
  });
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* address) {
  return call("aclSetRawTensorAddr", Need::kNothing, [&]() -> Status {
    if (tensor == nullptr) return refuse(ACLNN_ERR_PARAM_NULLPTR, "the tensor is null");
    const auto found = descriptors().tensors.find(tensor);
    if (found == nullptr) return refuse(ACLNN_ERR_PARAM_INVALID, "the tensor is destroyed or none");
    found->view.base = address;
    return ACL_SUCCESS;
  });
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** address) {
  return ask("aclGetRawTensorAddr", tensor, address, [](const View& view) { return view.base; });
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** dims, uint64_t* count) {
  return ask_for_numbers("aclGetViewShape", tensor, dims, count, &View::shape);
}
aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** dims, uint64_t* count) {
  return ask_for_numbers("aclGetStorageShape", tensor, dims, count, &View::storage);
}
aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** strides, uint64_t* count) {
  return ask_for_numbers("aclGetViewStrides", tensor, strides, count, &View::strides);
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return ask("aclGetViewOffset", tensor, offset, [](const View& view) { return view.offset; });
}
aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return ask("aclGetFormat", tensor, format, [](const View& view) { return view.format; });
}
aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return ask("aclGetDataType", tensor, dataType, [](const View& view) { return view.type; });
}
