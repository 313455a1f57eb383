/* Descriptors and executors: libnnopbase.so. Dimensions, strides and offsets are in elements, the
 * outermost dimension first. */
#ifndef ASCEND_TWIN_ACL_TENSOR_H
#define ASCEND_TWIN_ACL_TENSOR_H

#include "acl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInit(const char* configPath);
aclnnStatus aclnnFinalize(void);

/* --- Tensors. Null strides: contiguous. `data` is the base of the storage. */
aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t offset, aclFormat format,
                           const int64_t* storageDims, uint64_t storageDimsNum, void* data);
aclnnStatus aclDestroyTensor(const aclTensor* tensor);
/* Anew, with these parameters. */
aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum,
                          aclDataType dataType, const int64_t* stride, int64_t offset,
                          aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                          void* data);
aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* address);
aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** address);
/* The caller frees the array with delete[] of C++. */
aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** dims, uint64_t* count);
aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** dims, uint64_t* count);
aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** strides, uint64_t* count);
aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset);
aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format);
aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType);

/* --- Scalars and arrays: the values are copied. */
aclScalar* aclCreateScalar(void* value, aclDataType dataType);
aclnnStatus aclDestroyScalar(const aclScalar* scalar);
aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t size);
aclnnStatus aclDestroyIntArray(const aclIntArray* array);
aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size);
aclFloatArray* aclCreateFloatArray(const float* values, uint64_t size);
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array);
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size);
aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t size);
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array);
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size);

/* --- Lists. The list owns its members from here on. */
aclTensorList* aclCreateTensorList(const aclTensor* const* members, uint64_t size);
aclnnStatus aclDestroyTensorList(const aclTensorList* list);
aclnnStatus aclGetTensorListSize(const aclTensorList* list, uint64_t* size);
aclScalarList* aclCreateScalarList(const aclScalar* const* members, uint64_t size);
aclnnStatus aclDestroyScalarList(const aclScalarList* list);
aclnnStatus aclGetScalarListSize(const aclScalarList* list, uint64_t* size);

/* --- Executors. `index` counts the tensors of the signature that are inputs, outputs or both;
 * `member` counts those of a list. */
aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor);
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor);
aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                  void* address);
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                   void* address);
aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                             void* address);
aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t index, const size_t member,
                                         aclTensorList* list, void* address);
aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t index,
                                          const size_t member, aclTensorList* list, void* address);
aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t index, const size_t member,
                                    aclTensorList* list, void* address);

#ifdef __cplusplus
}
#endif
#endif
