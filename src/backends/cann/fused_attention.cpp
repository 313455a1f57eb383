#include "backends/cann/fused_attention.h"

#include <limits>

namespace shunt::cann {

namespace {

// Limits of the vendor's documentation.
constexpr std::int64_t kMostHeadSize = 512;
constexpr std::int64_t kHeadSizeStep = 16;
constexpr std::int64_t kMostHeads = 256;
constexpr std::int64_t kMostGroup = 64;
// Of a 310P.
constexpr std::int64_t kMostLength = 65535;
constexpr std::int64_t kMostBatches = 128;
constexpr std::int64_t kMaskStep = 128;

constexpr std::int64_t kNoBand = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kPrecise = 0;  // scores in F32

/// The operands of a call, as the vendor names and orders them.
struct Call {
  View q, k, v;
  std::optional<View> mask;
  View out;
  std::int64_t heads, kv_heads;
  double scale;
  const char* layout;
};

/// 910B: heads of k may be fewer.
bool call_grouped(Calls& calls, const Call& call) {
  return calls.attempt(kFusedInferAttentionScoreV2, call.q, {call.k}, {call.v}, {}, call.mask, {},
                       {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                       call.heads, call.scale, kNoBand, kNoBand, call.layout, call.kv_heads, 0,
                       kPrecise, 0, 0, false, 0, 0, call.out, {});
}

/// 310P: one query for each head.
bool call_for_token(Calls& calls, const Call& call) {
  return calls.attempt(kIncreFlashAttentionV4, call.q, {call.k}, {call.v}, {}, call.mask, {}, {},
                       {}, {}, {}, {}, {}, {}, {}, {}, call.heads, call.scale, call.layout, 0, 0,
                       kPrecise, call.out);
}

/// 310P: many.
bool call_for_tokens(Calls& calls, const Call& call) {
  return calls.attempt(kPromptFlashAttentionV3, call.q, call.k, call.v, {}, call.mask, {}, {}, {},
                       {}, {}, {}, {}, call.heads, call.scale, kNoBand, kNoBand, call.layout, 0, 0,
                       kPrecise, call.out);
}

/// Whether a 310P has an operator for these sizes.
bool fits_310p(const AttentionOperands& in) {
  const std::int64_t tokens = in.q.size(2);
  const std::int64_t keys = in.k.size(1);
  if (tokens > kMostLength || keys > kMostLength || in.q.size(3) > kMostBatches) return false;
  const bool whole_steps = tokens % kMaskStep == 0 && keys % kMaskStep == 0;
  return !in.hidden || tokens == 1 || tokens == keys || whole_steps;
}

/// In F16 and without gaps.
View half(Calls& calls, const View& from) {
  if (from.is_contiguous()) return calls.cast(from, DataType::kFloat16);
  const View made = calls.temporary(DataType::kFloat16, from.sizes());
  calls.copy(made, from);
  return made;
}

/// Dimensions 1 and 2 swapped.
View swapped(const View& view) {
  return view.permuted({0, 2, 1, 3});
}

}  // namespace

bool may_be_fused(const NodeView& view, bool plain, const CannTarget& target) {
  const FusedAttention fused = target.chip->fused_attention;
  if (!plain || !target.fuses_attention || fused == FusedAttention::kNone) return false;
  const Tensor& q = view.source(0);
  const Tensor& k = view.source(1);
  const Tensor& v = view.source(2);
  const std::int64_t size = k.shape[0].max;
  const std::int64_t heads = q.shape[1].max;
  const std::int64_t kv_heads = k.shape[1].max;
  return k.dtype == DType::kF16 && v.dtype == DType::kF16 && v.shape[0].max == size &&
         size <= kMostHeadSize && size % kHeadSizeStep == 0 && heads <= kMostHeads &&
         (fused == FusedAttention::kGrouped ? heads <= kv_heads * kMostGroup : heads == kv_heads);
}

bool attend_fused(Calls& calls, const AttentionOperands& in, const View& result) {
  const bool grouped = calls.chip().fused_attention == FusedAttention::kGrouped;
  const std::int64_t tokens = in.q.size(2);
  if (!grouped && !fits_310p(in)) return false;
  // Keys of a cache have all heads of a row together; gathered ones have all rows of a head.
  const bool by_rows = swapped(in.k).is_contiguous() && swapped(in.v).is_contiguous();
  const auto laid_out = [&](const View& by_row) { return by_rows ? by_row : swapped(by_row); };
  View::Dims sizes = in.q.sizes();
  if (!by_rows) std::swap(sizes[1], sizes[2]);
  const Call call = {.q = half(calls, laid_out(in.q)),
                     .k = laid_out(swapped(in.k)),
                     .v = laid_out(swapped(in.v)),
                     .mask = in.hidden,
                     .out = calls.temporary(DataType::kFloat16, sizes),
                     .heads = in.q.size(1),
                     .kv_heads = in.k.size(2),
                     .scale = static_cast<double>(in.scale),
                     .layout = by_rows ? "BSND" : "BNSD"};
  const bool called = grouped       ? call_grouped(calls, call)
                      : tokens == 1 ? call_for_token(calls, call)
                                    : call_for_tokens(calls, call);
  if (!called) return false;
  calls.copy(result, laid_out(call.out));
  if (in.unseen) calls(kInplaceMaskedFillScalar, result, *in.unseen, 0.0F);
  return true;
}

}  // namespace shunt::cann
