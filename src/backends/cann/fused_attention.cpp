#include "backends/cann/fused_attention.h"

#include <limits>
#include <string_view>

namespace shunt::cann {

namespace {

// Limits of the vendor's documentation.
constexpr std::int64_t kMostHeadSize = 512;
constexpr std::int64_t kHeadSizeStep = 16;
constexpr std::int64_t kMostHeads = 256;
constexpr std::int64_t kMostGroup = 64;
// Limits of a 310P.
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
  const char* layout;
};

/// Calls `use` with the operator for these operands and its arguments. `fused`: the chip's.
template <class Use>
auto with_operator(FusedAttention fused, const Call& call, const Use& use) {
  constexpr auto kNone = std::nullopt;
  constexpr double kScale = 1;  // q has it
  const std::vector<View> k = {call.k}, v = {call.v};
  if (fused == FusedAttention::kGrouped) {
    return use(kFusedInferAttentionScoreV2, call.q, k, v, kNone, call.mask, kNone, kNone, kNone,
               kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone,
               kNone, kNone, kNone, kNone, call.heads, kScale, kNoBand, kNoBand, call.layout,
               call.kv_heads, 0, kPrecise, 0, 0, false, 0, 0, call.out, kNone);
  }
  const std::size_t row = std::string_view(call.layout) == "BSND" ? 2 : 1;
  if (call.q.size(row) == 1) {
    return use(kIncreFlashAttentionV4, call.q, k, v, kNone, call.mask, kNone, kNone, kNone, kNone,
               kNone, kNone, kNone, kNone, kNone, kNone, call.heads, kScale, call.layout, 0, 0,
               kPrecise, call.out);
  }
  return use(kPromptFlashAttentionV3, call.q, call.k, call.v, kNone, call.mask, kNone, kNone, kNone,
             kNone, kNone, kNone, kNone, call.heads, kScale, kNoBand, kNoBand, call.layout, 0, 0,
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

bool needs_both(const Calls& calls) {
  return calls.is_plan() && calls.chip().fused_attention == FusedAttention::kUngrouped;
}

bool attend_fused(Calls& calls, const AttentionOperands& in, const View& result) {
  const Calls::Scope scope(calls);
  const FusedAttention fused = calls.chip().fused_attention;
  if (fused == FusedAttention::kUngrouped && !fits_310p(in)) return false;
  // Keys of a cache have all heads of a row together; gathered ones have all rows of a head.
  const bool by_rows = swapped(in.k).is_contiguous() && swapped(in.v).is_contiguous();
  const auto laid_out = [&](const View& by_row) { return by_rows ? by_row : swapped(by_row); };
  View::Dims sizes = in.q.sizes();
  if (!by_rows) std::swap(sizes[1], sizes[2]);
  const View without_memory(DataType::kFloat16, sizes, nullptr);
  Call call = {.q = without_memory,
               .k = laid_out(swapped(in.k)),
               .v = laid_out(swapped(in.v)),
               .mask = in.hidden,
               .out = without_memory,
               .heads = in.q.size(1),
               .kv_heads = in.k.size(2),
               .layout = by_rows ? "BSND" : "BNSD"};
  if (!with_operator(fused, call,
                     [&](const auto&... arguments) { return calls.has(arguments...); }))
    return false;
  // Scores grow with the size of a head, so that queries are scaled before they are rounded.
  const View scaled = calls.temporary(DataType::kFloat, sizes);
  calls(kMuls, laid_out(in.q), in.scale, scaled);
  call.q = calls.cast(scaled, DataType::kFloat16);
  call.out = calls.temporary(DataType::kFloat16, sizes);
  with_operator(fused, call, [&](const auto&... arguments) { calls(arguments...); });
  calls.copy(result, laid_out(call.out));
  return true;
}

}  // namespace shunt::cann
