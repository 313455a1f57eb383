// PromptFlashAttentionV3 and IncreFlashAttentionV4: the fused attention that a 310P has, with its
// limits there (facts H).
#include "ascend/include/acl/aclnn_attention.h"
#include "ascend/ops/attention/attention.h"
#include "ascend/profiles.h"

namespace ascend_twin {
namespace {

namespace prompt {

constexpr std::int64_t kUnlimited = 2147483647;
constexpr std::int64_t kMostLength = 65535;
constexpr std::int64_t kMaskStep = 128;

Status lacks(const std::string& what) {
  return refuse(ACLNN_ERR_PARAM_INVALID, "this chip's attention has no " + what);
}

/// Limits of a 310P that both calls share.
Status check_310p(const Call& call, const AttentionRoles& roles, const Attention& attention,
                  std::int64_t most_batches) {
  if (call.has(roles.bias)) return lacks("pseShift");
  if (call.integer(roles.key_heads) != 0) return lacks("grouped heads");
  if (call.has(roles.mask)) ASCEND_TWIN_TRY(need_type(call, roles.mask, {ACL_BOOL}));
  if (attention.batches > most_batches)
    return lacks(std::to_string(attention.batches) + " batches");
  if (attention.queries > kMostLength || attention.keys > kMostLength)
    return lacks("rows of more than 65535");
  return ACL_SUCCESS;
}

/// Refuses factors of quantised attention, and pages.
Status need_absent(const Call& call, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i <= last; ++i) {
    if (call.has(i))
      return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(i) + ", which the twin does not have");
  }
  return ACL_SUCCESS;
}

namespace whole {
enum {
  kQuery,
  kKey,
  kValue,
  kBias,
  kMask,
  kQueryLengths,
  kKeyLengths,
  kFirstScale,
  kLastScale = 11,
  kHeads,
  kScale,
  kBefore,
  kAfter,
  kLayout,
  kKeyHeads,
  kSparse,
  kPrecise,
  kOut
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
                                .out = kOut};

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_absent(call, kFirstScale, kLastScale));
  Attention attention;
  ASCEND_TWIN_TRY(check_attention(call, kRoles, &attention));
  if (profile()->chip != k310p) return ACL_SUCCESS;
  ASCEND_TWIN_TRY(check_310p(call, kRoles, attention, 128));
  if (attention.sparse != 0) return lacks("sparse modes");
  if (attention.before != kUnlimited || (attention.after != 0 && attention.after != kUnlimited))
    return lacks("band of " + std::to_string(attention.before) + " and " +
                 std::to_string(attention.after));
  const bool is_aligned = attention.queries % kMaskStep == 0 && attention.keys % kMaskStep == 0;
  if (call.has(kMask) && attention.queries != attention.keys && !is_aligned)
    return lacks("mask of these lengths");
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  return attend(kernel, kRoles);
}

std::uint64_t workspace(const Call& call) {
  Attention attention;
  return attention_of(call, kRoles, &attention) == ACL_SUCCESS ? attention_workspace(attention) : 0;
}

constexpr Op kOp{.name = "PromptFlashAttentionV3",
                 .roles = "iiii?i?a?a?i?i?i?i?i?nnnntnnno",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace whole

namespace one {
enum {
  kQuery,
  kKey,
  kValue,
  kBias,
  kMask,
  kKeyLengths,
  kFirstScale,
  kLastPadding = 14,
  kHeads,
  kScale,
  kLayout,
  kKeyHeads,
  kBlockSize,
  kPrecise,
  kOut
};
constexpr AttentionRoles kRoles{.query = kQuery,
                                .key = kKey,
                                .value = kValue,
                                .bias = kBias,
                                .mask = kMask,
                                .key_lengths = kKeyLengths,
                                .heads = kHeads,
                                .scale = kScale,
                                .layout = kLayout,
                                .key_heads = kKeyHeads,
                                .precise = kPrecise,
                                .out = kOut};

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_absent(call, kFirstScale, kLastPadding));
  if (call.integer(kBlockSize) != 0)
    return refuse(ACLNN_ERR_PARAM_INVALID, "blocks of keys, which the twin does not have");
  Attention attention;
  ASCEND_TWIN_TRY(check_attention(call, kRoles, &attention));
  if (attention.queries != 1)
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(kQuery) + ", of more than one row");
  return profile()->chip == k310p ? check_310p(call, kRoles, attention, 256) : ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  return attend(kernel, kRoles);
}

std::uint64_t workspace(const Call& call) {
  Attention attention;
  return attention_of(call, kRoles, &attention) == ACL_SUCCESS ? attention_workspace(attention) : 0;
}

constexpr Op kOp{.name = "IncreFlashAttentionV4",
                 .roles = "illi?i?a?i?i?i?i?i?i?i?i?i?nntnnno",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace one

}  // namespace prompt

}  // namespace
}  // namespace ascend_twin

// clang-format off
ASCEND_OP(PromptFlashAttentionV3, ascend_twin::prompt::whole::kOp,
          (query, key, value, pseShift, attenMask, actualSeqLengths, actualSeqLengthsKv, deqScale1, quantScale1,
           deqScale2, quantScale2, quantOffset2, numHeads, scaleValue, preTokens, nextTokens, inputLayout,
           numKeyValueHeads, sparseMode, innerPrecise, attentionOut),
          const aclTensor* query, const aclTensor* key, const aclTensor* value, const aclTensor* pseShift,
          const aclTensor* attenMask, const aclIntArray* actualSeqLengths, const aclIntArray* actualSeqLengthsKv,
          const aclTensor* deqScale1, const aclTensor* quantScale1, const aclTensor* deqScale2,
          const aclTensor* quantScale2, const aclTensor* quantOffset2, int64_t numHeads, double scaleValue,
          int64_t preTokens, int64_t nextTokens, char* inputLayout, int64_t numKeyValueHeads, int64_t sparseMode,
          int64_t innerPrecise, const aclTensor* attentionOut)
ASCEND_OP(IncreFlashAttentionV4, ascend_twin::prompt::one::kOp,
          (query, key, value, pseShift, attenMask, actualSeqLengths, dequantScale1, quantScale1, dequantScale2,
           quantScale2, quantOffset2, antiquantScale, antiquantOffset, blocktable, kvPaddingSize, numHeads,
           scaleValue, inputLayout, numKeyValueHeads, blockSize, innerPrecise, attentionOut),
          const aclTensor* query, const aclTensorList* key, const aclTensorList* value, const aclTensor* pseShift,
          const aclTensor* attenMask, const aclIntArray* actualSeqLengths, const aclTensor* dequantScale1,
          const aclTensor* quantScale1, const aclTensor* dequantScale2, const aclTensor* quantScale2,
          const aclTensor* quantOffset2, const aclTensor* antiquantScale, const aclTensor* antiquantOffset,
          const aclTensor* blocktable, const aclTensor* kvPaddingSize, int64_t numHeads, double scaleValue,
          char* inputLayout, int64_t numKeyValueHeads, int64_t blockSize, int64_t innerPrecise,
          const aclTensor* attentionOut)
// clang-format on
