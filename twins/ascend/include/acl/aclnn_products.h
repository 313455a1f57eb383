/* Products and weights: libopapi.so, or libopapi_nn.so of the split layout. */
#ifndef ASCEND_TWIN_ACLNN_PRODUCTS_H
#define ASCEND_TWIN_ACLNN_PRODUCTS_H

#include "aclnn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Batches broadcast; the last two dimensions are multiplied. */
ACLNN_OP(Matmul, const aclTensor* self, const aclTensor* mat2, aclTensor* out, int8_t cubeMathType)
/* Two dimensions each. */
ACLNN_OP(Mm, const aclTensor* self, const aclTensor* mat2, aclTensor* out, int8_t cubeMathType)
/* Three dimensions each. */
ACLNN_OP(BatchMatMul, const aclTensor* self, const aclTensor* mat2, aclTensor* out,
         int8_t cubeMathType)
/* mat2 in FRACTAL_NZ. Split layout only. */
ACLNN_OP(MatmulWeightNz, const aclTensor* self, const aclTensor* mat2, aclTensor* out,
         int8_t cubeMathType)
/* A matrix times a vector. */
ACLNN_OP(Mv, const aclTensor* self, const aclTensor* vec, aclTensor* out, int8_t cubeMathType)
/* beta * self + alpha * mat1 * mat2 */
ACLNN_OP(Addmm, const aclTensor* self, const aclTensor* mat1, const aclTensor* mat2,
         const aclScalar* beta, const aclScalar* alpha, aclTensor* out, int8_t cubeMathType)
/* out[i][j] = self[i] * vec2[j] */
ACLNN_OP(Ger, const aclTensor* self, const aclTensor* vec2, aclTensor* out)
/* x * ((weight + antiquantOffset) * antiquantScale) + bias */
ACLNN_OP(WeightQuantBatchMatmulV2, const aclTensor* x, const aclTensor* weight,
         const aclTensor* antiquantScale, const aclTensor* antiquantOffset,
         const aclTensor* quantScale, const aclTensor* quantOffset, const aclTensor* bias,
         int antiquantGroupSize, const aclTensor* y)
/* (x1 * x2 + bias) * scale * pertokenScale + offset */
ACLNN_OP(QuantMatmulV4, const aclTensor* x1, const aclTensor* x2, const aclTensor* scale,
         const aclTensor* offset, const aclTensor* pertokenScale, const aclTensor* bias,
         bool transposeX1, bool transposeX2, const aclTensor* out)
/* Groups of rows of x, each with its own weight; groupList has their ends. */
ACLNN_OP(GroupedMatmulV3, const aclTensorList* x, const aclTensorList* weight,
         const aclTensorList* bias, const aclTensorList* scale, const aclTensorList* offset,
         const aclTensorList* antiquantScale, const aclTensorList* antiquantOffset,
         const aclTensor* groupList, int64_t splitItem, int64_t groupType, const aclTensorList* y)
/* To FRACTAL_NZ in place: the memory has room for it, and the descriptor says so from phase 1 on.
 */
ACLNN_OP(TransMatmulWeight, aclTensor* mat)

/* One phase each. Elements of memory that a weight of this shape takes in FRACTAL_NZ, not bytes;
 * the first one is for F16. */
aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray* shape, uint64_t* elements);
aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray* shape, aclDataType type,
                                             uint64_t* elements);

#ifdef __cplusplus
}
#endif
#endif
