#include <algorithm>
#include <cmath>

#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/attention/attention.h"
#include "ops/common/cache_types.h"

namespace shunt {

namespace {

struct AttentionSize {
  std::int64_t d, dv, h, hk, n, t, s;
};

/// A device may round q, the scores and the weights p to F16 or BF16, if k or v is of that type.
double attention_error(DType k, DType v) {
  const auto of_type = [](DType type) {
    return type == DType::kF32 || trait(type).quantized ? 1e-10 : 5 * rounding_error(type);
  };
  return std::max(of_type(k), of_type(v));
}

void emit_attention_sources(const CaseSink& sink, const std::vector<CaseSource>& sources,
                            const AttentionParams& given, const char* extra = "") {
  const Params params = Params::of(given);
  emit_case(sink, params, sources, attention_error(sources[1].dtype, sources[2].dtype),
            extra + attention_op().describe(params));
}

/// Contiguous q, k and v with heads of whole blocks. A scale of 0 means 1 / sqrt(head size).
void emit_attention(const CaseSink& sink, const AttentionSize& size, DType k, DType v,
                    const CaseSource& mask = not_given(), const char* extra = "",
                    AttentionParams params = {.scale = 0}, const CaseSource& sinks = not_given()) {
  const std::int64_t d = round_up(size.d, trait(k).block_elements);
  const std::int64_t dv = round_up(size.dv, trait(v).block_elements);
  if (params.scale == 0) params.scale = 1 / std::sqrt(static_cast<float>(d));
  emit_attention_sources(sink,
                         {source_of(DType::kF32, {d, size.h, size.t, size.s}),
                          source_of(k, {d, size.hk, size.n, size.s}),
                          source_of(v, {dv, size.hk, size.n, size.s}), mask, sinks},
                         params, extra);
}

CaseSource causal(DType type, const Sizes& sizes) {
  return filled(source_of(type, sizes), Fill::kCausalMask, 0, 0);
}

CaseSource sinks_of(const AttentionSize& size) {
  return source_of(DType::kF32, {size.h, 1, 1, 1});
}

void attention_size_cases(const CaseSink& sink, DType type) {
  constexpr std::array kSizes = {
      AttentionSize{16, 16, 1, 1, 1, 1, 1},  AttentionSize{16, 16, 2, 2, 7, 1, 1},
      AttentionSize{16, 16, 4, 2, 33, 3, 1}, AttentionSize{64, 64, 4, 1, 32, 1, 1},
      AttentionSize{64, 64, 2, 2, 67, 2, 1}, AttentionSize{8, 24, 6, 2, 5, 9, 1},
      AttentionSize{24, 8, 3, 3, 31, 4, 2},  AttentionSize{33, 17, 2, 1, 9, 5, 1},
      AttentionSize{80, 80, 2, 1, 16, 3, 1}, AttentionSize{128, 128, 2, 1, 20, 2, 1},
      AttentionSize{16, 16, 8, 2, 66, 5, 2},
  };
  for (const AttentionSize& size : kSizes) {
    emit_attention(sink, size, type, type);
    emit_attention(sink, size, type, type, causal(DType::kF16, {size.n, size.t, 1, 1}), "causal ");
  }
}

void attention_mask_cases(const CaseSink& sink, DType type) {
  const AttentionSize size = {16, 16, 4, 2, 33, 3, 2};
  for (DType mask : {DType::kF32, DType::kF16}) {
    for (const Sizes& sizes :
         {Sizes{33, 3, 1, 1}, Sizes{33, 3, 4, 1}, Sizes{33, 3, 1, 2}, Sizes{33, 3, 4, 2}}) {
      emit_attention(sink, size, type, type, source_of(mask, sizes));
      emit_attention(sink, size, type, type, causal(mask, sizes), "causal ");
    }
    emit_attention(sink, size, type, type,
                   seen_as(mask, {33, 3, 1, 1}, {0, 1, 2, 3}, {5, 2, 0, 0}));
    emit_attention(sink, size, type, type, seen_as(mask, {33, 3, 1, 1}, {1, 0, 2, 3}));
    // The slice drops all visible columns of the first rows of a causal mask.
    const CaseSource cut = seen_as(mask, {3, 6, 1, 1}, {0, 1, 2, 3}, {3, 0, 0, 0});
    const AttentionSize small = {16, 16, 4, 2, 3, 6, 1};
    emit_attention(sink, small, type, type, filled(cut, Fill::kCausalMask, 0, 0), "causal ");
    emit_attention(sink, small, type, type, filled(cut, Fill::kCausalMask, 0, 0), "causal ",
                   {.scale = 0}, sinks_of(small));
  }
}

void attention_stride_cases(const CaseSink& sink, DType type) {
  const std::int64_t d = round_up(16, trait(type).block_elements);
  const AttentionParams params = {.scale = 0.25F};
  const Sizes keys = {d, 2, 33, 2};
  const CaseSource q = source_of(DType::kF32, {d, 4, 3, 2});
  const CaseSource k = source_of(type, keys);
  const CaseSource mask = causal(DType::kF32, {33, 3, 1, 1});
  const auto emit_seen = [&](const CaseSource& of_q, const CaseSource& of_k,
                             const CaseSource& of_v) {
    emit_attention_sources(sink, {of_q, of_k, of_v, mask, not_given()}, params);
  };
  emit_seen(seen_as(DType::kF32, {d, 4, 3, 2}, {0, 2, 1, 3}), k, k);
  emit_seen(seen_as(DType::kF32, {d, 4, 3, 2}, {1, 0, 2, 3}), k, k);
  emit_seen(seen_as(DType::kF32, {d, 4, 3, 2}, {0, 1, 2, 3}, {16, 2, 1, 0}), k, k);
  // The keys of one head are contiguous.
  const CaseSource by_head = seen_as(type, keys, {0, 2, 1, 3});
  emit_seen(q, by_head, k);
  emit_seen(q, k, by_head);
  // A window of a longer cache, and of larger heads.
  const CaseSource part = seen_as(type, keys, {0, 1, 2, 3}, {0, 0, 31, 0});
  emit_seen(q, part, part);
  const CaseSource second = seen_as(type, keys, {0, 1, 2, 3}, {d, 1, 0, 0});
  emit_seen(q, second, second);
  if (trait(type).quantized) return;
  // Transposed values.
  emit_seen(q, k, seen_as(type, keys, {1, 2, 0, 3}));
  emit_seen(q, seen_as(type, keys, {1, 0, 2, 3}), k);
}

/// ALiBi with head counts that are powers of two and with others, soft caps, sinks, and all of
/// them.
void attention_param_cases(const CaseSink& sink, DType type) {
  for (std::int64_t heads : {1, 4, 6, 12}) {
    const AttentionSize size = {16, 16, heads, heads % 4 == 0 ? heads / 4 : 1, 33, 3, 2};
    const CaseSource mask = source_of(DType::kF16, {33, 3, 1, 1});
    const CaseSource each = source_of(DType::kF32, {33, 3, heads, 1});
    const auto emit_with = [&](const CaseSource& with, AttentionParams params, bool sinks) {
      params.scale = 0.5F;
      emit_attention(sink, size, type, type, with, "", params,
                     sinks ? sinks_of(size) : not_given());
    };
    emit_with(mask, {.max_bias = 8}, false);
    emit_with(each, {.max_bias = 3.5F}, false);
    emit_with(not_given(), {.softcap = 2}, false);
    emit_with(mask, {.softcap = 50}, false);
    emit_with(not_given(), {}, true);
    emit_with(causal(DType::kF16, {33, 3, 1, 1}), {}, true);
    emit_with(mask, {.max_bias = 8, .softcap = 2}, true);
    if (heads > 1) emit_with(each, {.max_bias = 8, .softcap = 2}, true);
  }
  // Sinks of almost no weight, and sinks that take almost all of it.
  const AttentionSize size = {16, 16, 4, 2, 9, 2, 1};
  emit_attention(sink, size, type, type, not_given(), "low sinks ", {.scale = 0},
                 filled(sinks_of(size), Fill::kUniform, -200, -100));
  emit_attention(sink, size, type, type, not_given(), "high sinks ", {.scale = 0},
                 filled(sinks_of(size), Fill::kUniform, 10, 20));
}

/// Enough keys to split among threads, for few queries and for many.
void attention_long_cases(const CaseSink& sink, DType type) {
  constexpr std::array kSizes = {
      AttentionSize{16, 16, 4, 2, 256, 1, 1},  AttentionSize{16, 8, 4, 2, 257, 1, 2},
      AttentionSize{32, 32, 4, 1, 1030, 1, 1}, AttentionSize{16, 16, 4, 2, 700, 5, 1},
      AttentionSize{16, 16, 4, 2, 300, 40, 1}, AttentionSize{8, 8, 40, 1, 600, 1, 1},
      AttentionSize{8, 8, 40, 1, 300, 2, 1},   AttentionSize{16, 8, 8, 4, 1100, 3, 2},
  };
  for (const AttentionSize& size : kSizes) {
    emit_attention(sink, size, type, type);
    emit_attention(sink, size, type, type, causal(DType::kF16, {size.n, size.t, 1, 1}), "causal ",
                   {.scale = 0, .max_bias = 8, .softcap = 20}, sinks_of(size));
  }
}

/// Long masked ranges of keys: query t, or head h, sees keys 0 to t, or 0 to h.
void masked_stretch_cases(const CaseSink& sink) {
  emit_attention(sink, {8, 8, 1, 1, 600, 600, 1}, DType::kF32, DType::kF32,
                 causal(DType::kF16, {600, 600, 1, 1}), "causal ");
  const CaseSource by_head = seen_as(DType::kF16, {600, 1, 600, 1}, {0, 2, 1, 3});
  emit_attention(sink, {8, 8, 600, 1, 600, 1, 1}, DType::kF32, DType::kF32,
                 filled(by_head, Fill::kCausalMask, 0, 0), "causal ");
}

void attention_cases(const Op&, const CaseSink& sink) {
  for (DType type : kCacheTypes) {
    attention_size_cases(sink, type);
    attention_mask_cases(sink, type);
    attention_stride_cases(sink, type);
    attention_param_cases(sink, type);
    attention_long_cases(sink, type);
    emit_attention(sink, {16, 16, 4, 2, 0, 3, 1}, type, type);
    emit_attention(sink, {16, 16, 4, 2, 9, 0, 1}, type, type);
  }
  for (DType k : kCacheTypes) {
    for (DType v : kCacheTypes) {
      if (k != v) emit_attention(sink, {16, 24, 4, 2, 33, 3, 1}, k, v);
    }
  }
  masked_stretch_cases(sink);
  // More values than a device may have at once.
  for (DType type : {DType::kF32, DType::kQ8_0})
    emit_attention(sink, {16, 1100, 2, 1, 40, 2, 1}, type, type);
  emit_attention(sink, {4, 4, 2, 1, 17000, 1, 1}, DType::kF32, DType::kF32);
  const AttentionSize none = {16, 16, 4, 2, 0, 3, 1};
  emit_attention(sink, none, DType::kF32, DType::kF32, not_given(), "", {.scale = 0},
                 sinks_of(none));
  emit_attention(sink, none, DType::kF32, DType::kF32, source_of(DType::kF16, {0, 3, 1, 1}));
  const AttentionSize headless = {16, 16, 0, 1, 9, 3, 1};
  emit_attention(sink, headless, DType::kF32, DType::kF32, not_given(), "", {.scale = 0},
                 sinks_of(headless));
  const AttentionSize size = {16, 16, 4, 2, 9, 2, 1};
  emit_attention(sink, size, DType::kF32, DType::kF32, not_given(), "", {.scale = 0},
                 seen_as(DType::kF32, {4, 1, 1, 1}, {1, 0, 2, 3}, {0, 2, 0, 0}));
  // Scores of hundreds: exp() without subtracting the maximum would overflow.
  sink({.name = "F32 scale=50",
        .params = Params::of(AttentionParams{50}),
        .sources = {source_of(DType::kF32, {16, 2, 3, 1}), source_of(DType::kF32, {16, 2, 9, 1}),
                    source_of(DType::kF32, {16, 2, 9, 1}), not_given(), not_given()}});
}

}  // namespace

CaseList attention_cases_list() {
  static constexpr OpCases kCases[] = {
      {attention_op, attention_cases},
  };
  return kCases;
}

}  // namespace shunt
