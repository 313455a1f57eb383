// FusedInferAttentionScore: V2, and V4 with sinks. The twin has no quantised keys, no pages, no
// padding on the left, no shared prefixes and no rotation inside of the call.
#include "ascend/include/acl/aclnn_attention.h"
#include "ascend/ops/attention/attention.h"

namespace ascend_twin {
namespace {

namespace fused {

/// Refuses arguments of features that the twin does not have.
Status need_absent(const Call& call, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i <= last; ++i) {
    if (i != kAbsent && call.has(i))
      return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(i) + ", which the twin does not have");
  }
  return ACL_SUCCESS;
}

Status need_zero(const Call& call, std::initializer_list<std::size_t> positions) {
  for (const std::size_t i : positions) {
    if (call.integer(i) != 0)
      return refuse(ACLNN_ERR_PARAM_INVALID,
                    call.describe(i) + " is " + std::to_string(call.integer(i)) + ", not 0");
  }
  return ACL_SUCCESS;
}

namespace v2 {
enum {
  kQuery,
  kKey,
  kValue,
  kBias,
  kMask,
  kQueryLengths,
  kKeyLengths,
  kFirstScale,
  kLastPrefix = 22,
  kPrefixLength,
  kHeads,
  kScale,
  kBefore,
  kAfter,
  kLayout,
  kKeyHeads,
  kSparse,
  kPrecise,
  kBlockSize,
  kAntiquantMode,
  kLseFlag,
  kKeyMode,
  kValueMode,
  kOut,
  kLse
};
constexpr AttentionRoles kRoles{.query = kQuery,
                                .key = kKey,
                                .value = kValue,
                                .bias = kBias,
                                .mask = kMask,
                                .query_lengths = kQueryLengths,
                                .key_lengths = kKeyLengths,
                                .heads = kHeads,
                                .scale = kScale,
                                .before = kBefore,
                                .after = kAfter,
                                .layout = kLayout,
                                .key_heads = kKeyHeads,
                                .sparse = kSparse,
                                .precise = kPrecise,
                                .lse_flag = kLseFlag,
                                .lse = kLse,
                                .out = kOut};

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_absent(call, kFirstScale, kPrefixLength));
  ASCEND_TWIN_TRY(need_zero(call, {kBlockSize, kAntiquantMode, kKeyMode, kValueMode}));
  Attention attention;
  return check_attention(call, kRoles, &attention);
}

Status run(Kernel& kernel) {
  return attend(kernel, kRoles);
}

std::uint64_t workspace(const Call& call) {
  Attention attention;
  return attention_of(call, kRoles, &attention) == ACL_SUCCESS ? attention_workspace(attention) : 0;
}

constexpr Op kOp{.name = "FusedInferAttentionScoreV2",
                 .roles = "illi?i?a?a?i?i?i?i?i?i?i?i?i?i?i?i?i?i?i?i?a?nnnntnnnnnnnnoo?",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace v2

namespace v4 {
enum {
  kQuery,
  kKey,
  kValue,
  kBias,
  kMask,
  kQueryLengths,
  kKeyLengths,
  kFirstScale,
  kPrefixLength = 23,
  kFirstRope,
  kLastRope = 27,
  kSink,
  kHeads,
  kScale,
  kBefore,
  kAfter,
  kLayout,
  kKeyHeads,
  kSparse,
  kPrecise,
  kBlockSize,
  kAntiquantMode,
  kLseFlag,
  kKeyMode,
  kValueMode,
  kQueryMode,
  kOut,
  kLse
};
constexpr AttentionRoles kRoles{.query = kQuery,
                                .key = kKey,
                                .value = kValue,
                                .bias = kBias,
                                .mask = kMask,
                                .query_lengths = kQueryLengths,
                                .key_lengths = kKeyLengths,
                                .heads = kHeads,
                                .scale = kScale,
                                .before = kBefore,
                                .after = kAfter,
                                .layout = kLayout,
                                .key_heads = kKeyHeads,
                                .sparse = kSparse,
                                .precise = kPrecise,
                                .sink = kSink,
                                .lse_flag = kLseFlag,
                                .lse = kLse,
                                .out = kOut};

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_absent(call, kFirstScale, kLastRope));
  ASCEND_TWIN_TRY(need_zero(call, {kBlockSize, kAntiquantMode, kKeyMode, kValueMode, kQueryMode}));
  Attention attention;
  return check_attention(call, kRoles, &attention);
}

Status run(Kernel& kernel) {
  return attend(kernel, kRoles);
}

std::uint64_t workspace(const Call& call) {
  Attention attention;
  return attention_of(call, kRoles, &attention) == ACL_SUCCESS ? attention_workspace(attention) : 0;
}

constexpr Op kOp{.name = "FusedInferAttentionScoreV4",
                 .roles =
                     "illi?i?a?a?i?i?i?i?i?i?i?i?i?i?i?i?i?i?i?i?a?"
                     "i?i?i?i?i?nnnntnnnnnnnnnoo?",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace v4

}  // namespace fused

}  // namespace
}  // namespace ascend_twin

// clang-format off
ASCEND_OP(FusedInferAttentionScoreV2, ascend_twin::fused::v2::kOp,
          (query, key, value, pseShift, attenMask, actualSeqLengths, actualSeqLengthsKv, deqScale1, quantScale1,
           deqScale2, quantScale2, quantOffset2, antiquantScale, antiquantOffset, blockTable, queryPaddingSize,
           kvPaddingSize, keyAntiquantScale, keyAntiquantOffset, valueAntiquantScale, valueAntiquantOffset,
           keySharedPrefix, valueSharedPrefix, actualSharedPrefixLen, numHeads, scaleValue, preTokens, nextTokens,
           inputLayout, numKeyValueHeads, sparseMode, innerPrecise, blockSize, antiquantMode, softmaxLseFlag,
           keyAntiquantMode, valueAntiquantMode, attentionOut, softmaxLse),
          const aclTensor* query, const aclTensorList* key, const aclTensorList* value, const aclTensor* pseShift,
          const aclTensor* attenMask, const aclIntArray* actualSeqLengths, const aclIntArray* actualSeqLengthsKv,
          const aclTensor* deqScale1, const aclTensor* quantScale1, const aclTensor* deqScale2,
          const aclTensor* quantScale2, const aclTensor* quantOffset2, const aclTensor* antiquantScale,
          const aclTensor* antiquantOffset, const aclTensor* blockTable, const aclTensor* queryPaddingSize,
          const aclTensor* kvPaddingSize, const aclTensor* keyAntiquantScale, const aclTensor* keyAntiquantOffset,
          const aclTensor* valueAntiquantScale, const aclTensor* valueAntiquantOffset,
          const aclTensor* keySharedPrefix, const aclTensor* valueSharedPrefix,
          const aclIntArray* actualSharedPrefixLen, int64_t numHeads, double scaleValue, int64_t preTokens,
          int64_t nextTokens, char* inputLayout, int64_t numKeyValueHeads, int64_t sparseMode,
          int64_t innerPrecise, int64_t blockSize, int64_t antiquantMode, bool softmaxLseFlag,
          int64_t keyAntiquantMode, int64_t valueAntiquantMode, const aclTensor* attentionOut,
          const aclTensor* softmaxLse)
ASCEND_OP(FusedInferAttentionScoreV4, ascend_twin::fused::v4::kOp,
          (query, key, value, pseShift, attenMask, actualSeqLengths, actualSeqLengthsKv, deqScale1, quantScale1,
           deqScale2, quantScale2, quantOffset2, antiquantScale, antiquantOffset, blockTable, queryPaddingSize,
           kvPaddingSize, keyAntiquantScale, keyAntiquantOffset, valueAntiquantScale, valueAntiquantOffset,
           keySharedPrefix, valueSharedPrefix, actualSharedPrefixLen, queryRope, keyRope, keyRopeAntiquantScale,
           dequantScaleQuery, learnableSink, numHeads, scaleValue, preTokens, nextTokens, inputLayout,
           numKeyValueHeads, sparseMode, innerPrecise, blockSize, antiquantMode, softmaxLseFlag, keyAntiquantMode,
           valueAntiquantMode, queryQuantMode, attentionOut, softmaxLse),
          const aclTensor* query, const aclTensorList* key, const aclTensorList* value, const aclTensor* pseShift,
          const aclTensor* attenMask, const aclIntArray* actualSeqLengths, const aclIntArray* actualSeqLengthsKv,
          const aclTensor* deqScale1, const aclTensor* quantScale1, const aclTensor* deqScale2,
          const aclTensor* quantScale2, const aclTensor* quantOffset2, const aclTensor* antiquantScale,
          const aclTensor* antiquantOffset, const aclTensor* blockTable, const aclTensor* queryPaddingSize,
          const aclTensor* kvPaddingSize, const aclTensor* keyAntiquantScale, const aclTensor* keyAntiquantOffset,
          const aclTensor* valueAntiquantScale, const aclTensor* valueAntiquantOffset,
          const aclTensor* keySharedPrefix, const aclTensor* valueSharedPrefix,
          const aclIntArray* actualSharedPrefixLen, const aclTensor* queryRope, const aclTensor* keyRope,
          const aclTensor* keyRopeAntiquantScale, const aclTensor* dequantScaleQuery,
          const aclTensor* learnableSink, int64_t numHeads, double scaleValue, int64_t preTokens,
          int64_t nextTokens, char* inputLayout, int64_t numKeyValueHeads, int64_t sparseMode,
          int64_t innerPrecise, int64_t blockSize, int64_t antiquantMode, bool softmaxLseFlag,
          int64_t keyAntiquantMode, int64_t valueAntiquantMode, int64_t queryQuantMode,
          const aclTensor* attentionOut, const aclTensor* softmaxLse)
// clang-format on
