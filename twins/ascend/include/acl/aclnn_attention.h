/* Attention and rotary embeddings: libopapi.so, or libopapi_transformer.so of the split layout. */
#ifndef ASCEND_TWIN_ACLNN_ATTENTION_H
#define ASCEND_TWIN_ACLNN_ATTENTION_H

#include "aclnn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Optional arguments are null. The twin refuses those of quantised and paged attention. */
ACLNN_OP(FusedInferAttentionScoreV2, const aclTensor* query, const aclTensorList* key,
         const aclTensorList* value, const aclTensor* pseShift, const aclTensor* attenMask,
         const aclIntArray* actualSeqLengths, const aclIntArray* actualSeqLengthsKv,
         const aclTensor* deqScale1, const aclTensor* quantScale1, const aclTensor* deqScale2,
         const aclTensor* quantScale2, const aclTensor* quantOffset2,
         const aclTensor* antiquantScale, const aclTensor* antiquantOffset,
         const aclTensor* blockTable, const aclTensor* queryPaddingSize,
         const aclTensor* kvPaddingSize, const aclTensor* keyAntiquantScale,
         const aclTensor* keyAntiquantOffset, const aclTensor* valueAntiquantScale,
         const aclTensor* valueAntiquantOffset, const aclTensor* keySharedPrefix,
         const aclTensor* valueSharedPrefix, const aclIntArray* actualSharedPrefixLen,
         int64_t numHeads, double scaleValue, int64_t preTokens, int64_t nextTokens,
         char* inputLayout, int64_t numKeyValueHeads, int64_t sparseMode, int64_t innerPrecise,
         int64_t blockSize, int64_t antiquantMode, bool softmaxLseFlag, int64_t keyAntiquantMode,
         int64_t valueAntiquantMode, const aclTensor* attentionOut, const aclTensor* softmaxLse)
/* The same with a sink for each head. Split layout only. */
ACLNN_OP(FusedInferAttentionScoreV4, const aclTensor* query, const aclTensorList* key,
         const aclTensorList* value, const aclTensor* pseShift, const aclTensor* attenMask,
         const aclIntArray* actualSeqLengths, const aclIntArray* actualSeqLengthsKv,
         const aclTensor* deqScale1, const aclTensor* quantScale1, const aclTensor* deqScale2,
         const aclTensor* quantScale2, const aclTensor* quantOffset2,
         const aclTensor* antiquantScale, const aclTensor* antiquantOffset,
         const aclTensor* blockTable, const aclTensor* queryPaddingSize,
         const aclTensor* kvPaddingSize, const aclTensor* keyAntiquantScale,
         const aclTensor* keyAntiquantOffset, const aclTensor* valueAntiquantScale,
         const aclTensor* valueAntiquantOffset, const aclTensor* keySharedPrefix,
         const aclTensor* valueSharedPrefix, const aclIntArray* actualSharedPrefixLen,
         const aclTensor* queryRope, const aclTensor* keyRope,
         const aclTensor* keyRopeAntiquantScale, const aclTensor* dequantScaleQuery,
         const aclTensor* learnableSink, int64_t numHeads, double scaleValue, int64_t preTokens,
         int64_t nextTokens, char* inputLayout, int64_t numKeyValueHeads, int64_t sparseMode,
         int64_t innerPrecise, int64_t blockSize, int64_t antiquantMode, bool softmaxLseFlag,
         int64_t keyAntiquantMode, int64_t valueAntiquantMode, int64_t queryQuantMode,
         const aclTensor* attentionOut, const aclTensor* softmaxLse)
/* Many rows of queries. */
ACLNN_OP(PromptFlashAttentionV3, const aclTensor* query, const aclTensor* key,
         const aclTensor* value, const aclTensor* pseShift, const aclTensor* attenMask,
         const aclIntArray* actualSeqLengths, const aclIntArray* actualSeqLengthsKv,
         const aclTensor* deqScale1, const aclTensor* quantScale1, const aclTensor* deqScale2,
         const aclTensor* quantScale2, const aclTensor* quantOffset2, int64_t numHeads,
         double scaleValue, int64_t preTokens, int64_t nextTokens, char* inputLayout,
         int64_t numKeyValueHeads, int64_t sparseMode, int64_t innerPrecise,
         const aclTensor* attentionOut)
/* One row of queries. */
ACLNN_OP(IncreFlashAttentionV4, const aclTensor* query, const aclTensorList* key,
         const aclTensorList* value, const aclTensor* pseShift, const aclTensor* attenMask,
         const aclIntArray* actualSeqLengths, const aclTensor* dequantScale1,
         const aclTensor* quantScale1, const aclTensor* dequantScale2, const aclTensor* quantScale2,
         const aclTensor* quantOffset2, const aclTensor* antiquantScale,
         const aclTensor* antiquantOffset, const aclTensor* blocktable,
         const aclTensor* kvPaddingSize, int64_t numHeads, double scaleValue, char* inputLayout,
         int64_t numKeyValueHeads, int64_t blockSize, int64_t innerPrecise,
         const aclTensor* attentionOut)
/* mode: 0 halves, 1 interleaved, 2 quarters, 3 interleaved into halves. */
ACLNN_OP(RotaryPositionEmbedding, const aclTensor* x, const aclTensor* cos, const aclTensor* sin,
         int64_t mode, aclTensor* out)
/* In place, by halves; layout 1: [B, S, N, D]. */
ACLNN_OP(ApplyRotaryPosEmb, aclTensor* queryRef, aclTensor* keyRef, const aclTensor* cos,
         const aclTensor* sin, int64_t layout)

#ifdef __cplusplus
}
#endif
#endif
