/* Indexing, shape, conversion and window operators: libopapi.so. */
#ifndef ASCEND_TWIN_ACLNN_INDEX_H
#define ASCEND_TWIN_ACLNN_INDEX_H

#include "aclnn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Conversion and constants */
ACLNN_OP(Cast, const aclTensor* self, const aclDataType dtype, aclTensor* out)
ACLNN_OP(InplaceCopy, aclTensor* selfRef, const aclTensor* src)
ACLNN_OP(InplaceZero, aclTensor* selfRef)
ACLNN_OP(InplaceOne, aclTensor* selfRef)
ACLNN_OP(InplaceFillScalar, aclTensor* selfRef, const aclScalar* value)
ACLNN_OP(InplaceMaskedFillScalar, aclTensor* selfRef, const aclTensor* mask, const aclScalar* value)
/* [start, end) */
ACLNN_OP(Arange, const aclScalar* start, const aclScalar* end, const aclScalar* step,
         aclTensor* out)

/* Indices: INT32 or INT64, not negative */
ACLNN_OP(GatherV2, const aclTensor* self, int64_t dim, const aclTensor* index, aclTensor* out)
ACLNN_OP(IndexSelect, const aclTensor* self, int64_t dim, const aclTensor* index, aclTensor* out)
ACLNN_OP(Gather, const aclTensor* self, const int64_t dim, const aclTensor* index, aclTensor* out)
ACLNN_OP(Embedding, const aclTensor* weight, const aclTensor* indices, aclTensor* out)
ACLNN_OP(InplaceIndexCopy, aclTensor* selfRef, int64_t dim, const aclTensor* index,
         const aclTensor* source)
ACLNN_OP(InplaceIndexFillTensor, aclTensor* selfRef, int64_t dim, const aclIntArray* index,
         const aclScalar* value)
ACLNN_OP(Argsort, const aclTensor* self, int64_t dim, bool descending, aclTensor* out)
ACLNN_OP(Topk, const aclTensor* self, int64_t k, int64_t dim, bool largest, bool sorted,
         aclTensor* valuesOut, aclTensor* indicesOut)
ACLNN_OP(Cumsum, const aclTensor* self, int64_t dim, aclDataType dtype, aclTensor* out)
/* A x = self */
ACLNN_OP(TriangularSolve, const aclTensor* self, const aclTensor* A, bool upper, bool transpose,
         bool unitriangular, aclTensor* xOut, aclTensor* mOut)

/* Shapes */
ACLNN_OP(Cat, const aclTensorList* tensors, int64_t dim, aclTensor* out)
ACLNN_OP(Repeat, const aclTensor* self, const aclIntArray* repeats, aclTensor* out)
ACLNN_OP(RepeatInterleaveIntWithDim, const aclTensor* self, int64_t repeats, int64_t dim,
         int64_t outputSize, aclTensor* out)
ACLNN_OP(Permute, const aclTensor* self, const aclIntArray* dims, aclTensor* out)
ACLNN_OP(Slice, const aclTensor* self, int64_t dim, int64_t start, int64_t end, int64_t step,
         aclTensor* out)
ACLNN_OP(Roll, const aclTensor* self, const aclIntArray* shifts, const aclIntArray* dims,
         aclTensor* out)
ACLNN_OP(Tril, const aclTensor* self, int64_t diagonal, aclTensor* out)
ACLNN_OP(Triu, const aclTensor* self, int64_t diagonal, aclTensor* out)
ACLNN_OP(InplaceTril, aclTensor* selfRef, int64_t diagonal)
ACLNN_OP(InplaceTriu, aclTensor* selfRef, int64_t diagonal)
/* Pairs, the last dimension's first */
ACLNN_OP(ConstantPadNd, const aclTensor* self, const aclIntArray* pad, const aclScalar* value,
         aclTensor* out)
ACLNN_OP(ReflectionPad1d, const aclTensor* self, const aclIntArray* padding, aclTensor* out)
ACLNN_OP(UpsampleNearest2d, const aclTensor* self, const aclIntArray* outputSize, aclTensor* out)

/* Windows */
ACLNN_OP(Im2col, const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* dilation,
         const aclIntArray* padding, const aclIntArray* stride, aclTensor* out)
ACLNN_OP(Convolution, const aclTensor* input, const aclTensor* weight, const aclTensor* bias,
         const aclIntArray* stride, const aclIntArray* padding, const aclIntArray* dilation,
         bool transposed, const aclIntArray* outputPadding, const int64_t groups, aclTensor* output,
         int8_t cubeMathType)
ACLNN_OP(AvgPool2d, const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* stride,
         const aclIntArray* padding, const bool ceilMode, const bool countIncludePad,
         const int64_t divisorOverride, int8_t cubeMathType, aclTensor* out)
ACLNN_OP(MaxPool, const aclTensor* self, const aclIntArray* kernelShape, const aclIntArray* strides,
         const int64_t autoPad, const aclIntArray* pads, const aclIntArray* dilations,
         const int64_t ceilMode, aclTensor* out)

#ifdef __cplusplus
}
#endif
#endif
