#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/attention/attention.h"
#include "ops/common/cache_types.h"

namespace shunt {

namespace {

/// Tokens of a sequence in the run, and all its keys.
struct CaseSequence {
  std::int64_t tokens = 0;
  std::int64_t keys = 0;
};

struct PagedCase {
  std::int64_t d = 16;
  std::int64_t dv = 16;
  std::int64_t heads = 4;
  std::int64_t k_heads = 2;
  std::vector<CaseSequence> sequences = {};
  PagedAttentionParams params = {.block = 16};
  std::int64_t idle_tokens = 0;    ///< after those of sequences
  std::int64_t shared_blocks = 0;  ///< first blocks that all sequences have in common
};

/// A device may round q, the scores and the weights p to F16 or BF16, if k or v is of that type.
double paged_error(DType k, DType v) {
  const auto of_type = [](DType type) {
    return type == DType::kF32 || trait(type).quantized ? 1e-10 : 5 * rounding_error(type);
  };
  return std::max(of_type(k), of_type(v));
}

/// The blocks of all sequences, which are scattered over the cache.
struct CaseBlocks {
  std::vector<double> sequences;  // [3, S]
  std::vector<double> table;
  std::int64_t rows = 0;
  std::int64_t tokens = 0;
};

CaseBlocks blocks_of(const PagedCase& each) {
  CaseBlocks made;
  std::int64_t shared = 0;
  for (const CaseSequence& sequence : each.sequences) {
    made.tokens += sequence.tokens;
    const std::int64_t blocks = (sequence.keys + each.params.block - 1) / each.params.block;
    made.sequences.insert(made.sequences.end(),
                          {static_cast<double>(made.tokens), static_cast<double>(sequence.keys),
                           static_cast<double>(made.table.size())});
    for (std::int64_t i = 0; i < blocks; ++i) {
      const bool common = i < each.shared_blocks && shared > i;
      const std::int64_t block = common ? i : made.rows / each.params.block;
      made.table.push_back(static_cast<double>(block));
      if (!common) made.rows += each.params.block;
      if (i < each.shared_blocks) shared = std::max(shared, i + 1);
    }
  }
  made.rows += each.params.block;  // of a block that is in no table
  if (each.shared_blocks > 0) return made;
  std::vector<double> order(static_cast<std::size_t>(made.rows / each.params.block));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  for (double& block : made.table) block = order[static_cast<std::size_t>(block)];
  return made;
}

/// Sources that differ from contiguous ones.
struct PagedSources {
  CaseSource q = not_given();
  CaseSource k = not_given();
  CaseSource v = not_given();
  CaseSource mask = not_given();
  CaseSource sinks = not_given();
};

void emit_paged(const CaseSink& sink, const PagedCase& each, const CaseBlocks& blocks, DType k,
                DType v, const PagedSources& with = {}, const std::string& extra = "") {
  const std::int64_t d = round_up(each.d, trait(k).block_elements);
  const std::int64_t dv = round_up(each.dv, trait(v).block_elements);
  PagedAttentionParams params = each.params;
  if (params.scale == 1) params.scale = 1 / std::sqrt(static_cast<float>(d));
  const auto count = static_cast<std::int64_t>(each.sequences.size());
  const auto entries = static_cast<std::int64_t>(blocks.table.size());
  const auto or_plain = [](const CaseSource& given, const CaseSource& plain) {
    return given.given ? given : plain;
  };
  const std::int64_t tokens = blocks.tokens + each.idle_tokens;
  std::string name = extra;
  for (const CaseSequence& sequence : each.sequences)
    name += fmt::format("{}/{} ", sequence.tokens, sequence.keys);
  const Params all = Params::of(params);
  emit_case(sink, all,
            {or_plain(with.q, source_of(DType::kF32, {d, each.heads, tokens, 1})),
             or_plain(with.k, source_of(k, {d, each.k_heads, blocks.rows, 1})),
             or_plain(with.v, source_of(v, {dv, each.k_heads, blocks.rows, 1})),
             with_values(source_of(DType::kI32, {3, count, 1, 1}), blocks.sequences),
             with_values(source_of(DType::kI32, {entries, 1, 1, 1}), blocks.table), with.mask,
             with.sinks},
            paged_error(k, v), name + paged_attention_op().describe(all));
}

void emit_paged(const CaseSink& sink, const PagedCase& each, DType k, DType v,
                const PagedSources& with = {}, const std::string& extra = "") {
  emit_paged(sink, each, blocks_of(each), k, v, with, extra);
}

void paged_size_cases(const CaseSink& sink, DType type) {
  const std::vector<std::vector<CaseSequence>> kSequences = {
      {{1, 1}},           {{1, 16}},
      {{1, 17}},          {{3, 3}},
      {{5, 33}},          {{1, 7}, {1, 40}, {1, 1}},
      {{4, 4}, {1, 70}},  {{1, 20}, {0, 9}, {2, 5}},
      {{0, 0}, {2, 2}},   {{9, 130}},
      {{2, 300}, {1, 65}}};
  for (const auto& sequences : kSequences) {
    emit_paged(sink, {.sequences = sequences}, type, type);
    emit_paged(sink, {.d = 64, .dv = 64, .sequences = sequences, .params = {.block = 64}}, type,
               type);
  }
  emit_paged(sink, {.d = 24, .dv = 8, .heads = 3, .k_heads = 3, .sequences = {{2, 9}}}, type, type);
  emit_paged(sink, {.d = 33, .dv = 17, .heads = 6, .k_heads = 1, .sequences = {{4, 19}, {1, 6}}},
             type, type);
  emit_paged(sink, {.sequences = {{2, 5}, {1, 20}}, .idle_tokens = 3}, type, type);
  emit_paged(sink, {.sequences = {{2, 5}}, .idle_tokens = 3}, type, type);
  // As many heads of keys as of queries: a token, as many tokens as slots, several sequences.
  emit_paged(sink, {.k_heads = 4, .sequences = {{1, 40}}}, type, type);
  emit_paged(sink, {.k_heads = 4, .sequences = {{30, 48}}, .idle_tokens = 18}, type, type);
  emit_paged(sink, {.k_heads = 4, .sequences = {{100, 120}}, .idle_tokens = 28}, type, type);
  emit_paged(sink, {.k_heads = 4, .sequences = {{1, 33}, {1, 5}}}, type, type);
  emit_paged(sink, {.sequences = {{1, 40}, {2, 37}, {1, 33}}, .shared_blocks = 2}, type, type);
}

/// Spans, ALiBi, soft caps and sinks.
void paged_param_cases(const CaseSink& sink, DType type) {
  const std::vector<CaseSequence> sequences = {{5, 40}, {1, 1}, {1, 70}, {20, 20}};
  for (const AttentionSpan span : {AttentionSpan::kSlidingWindow, AttentionSpan::kChunked,
                                   AttentionSpan::kBidirectionalWindow}) {
    for (const std::int64_t window : {1, 7, 16, 33}) {
      emit_paged(sink,
                 {.sequences = sequences, .params = {.span = span, .window = window, .block = 16}},
                 type, type);
    }
  }
  emit_paged(
      sink,
      {.sequences = sequences, .params = {.span = AttentionSpan::kBidirectional, .block = 32}},
      type, type);
  const PagedSources sinks = {.sinks = source_of(DType::kF32, {6, 1, 1, 1})};
  for (const PagedAttentionParams& params : {PagedAttentionParams{.max_bias = 8, .block = 16},
                                             PagedAttentionParams{.softcap = 2, .block = 16},
                                             PagedAttentionParams{.max_bias = 4,
                                             .softcap = 20,
                                             .span = AttentionSpan::kBidirectionalWindow,
                                             .window = 9,
                                             .block = 16}}) {
    const PagedCase each = {.heads = 6, .k_heads = 2, .sequences = sequences, .params = params};
    emit_paged(sink, each, type, type);
    emit_paged(sink, each, type, type, sinks);
  }
}

void paged_mask_cases(const CaseSink& sink, DType type) {
  const std::vector<CaseSequence> sequences = {{3, 33}, {1, 5}, {2, 20}};
  for (const DType mask : {DType::kF32, DType::kF16}) {
    for (const float max_bias : {0.0F, 8.0F}) {
      const PagedCase each = {.sequences = sequences,
                              .params = {.max_bias = max_bias, .block = 16}};
      emit_paged(sink, each, type, type, {.mask = source_of(mask, {33, 6, 1, 1})});
      emit_paged(sink, each, type, type, {.mask = source_of(mask, {40, 6, 4, 1})});
      emit_paged(sink, each, type, type,
                 {.mask = filled(source_of(mask, {33, 6, 1, 1}), Fill::kCausalMask, 0, 0)},
                 "causal mask ");
      emit_paged(sink, each, type, type,
                 {.mask = seen_as(mask, {33, 6, 1, 1}, {1, 0, 2, 3}, {5, 2, 0, 0})});
    }
  }
}

void paged_stride_cases(const CaseSink& sink, DType type) {
  const PagedCase each = {.sequences = {{3, 33}, {1, 5}, {2, 20}}};
  const std::int64_t d = round_up(16, trait(type).block_elements);
  const std::int64_t rows = blocks_of(each).rows;
  emit_paged(sink, each, type, type, {.q = seen_as(DType::kF32, {d, 4, 6, 1}, {0, 2, 1, 3})});
  emit_paged(sink, each, type, type, {.q = seen_as(DType::kF32, {d, 4, 6, 1}, {1, 0, 2, 3})});
  emit_paged(sink, each, type, type,
             {.q = seen_as(DType::kF32, {d, 4, 6, 1}, {0, 1, 2, 3}, {d, 1, 2, 0})});
  const CaseSource by_head = seen_as(type, {d, 2, rows, 1}, {0, 2, 1, 3});
  emit_paged(sink, each, type, type, {.k = by_head});
  emit_paged(sink, each, type, type, {.v = by_head});
  const CaseSource part = seen_as(type, {d, 2, rows, 1}, {0, 1, 2, 3}, {d, 1, 3, 0});
  emit_paged(sink, each, type, type, {.k = part, .v = part});
  if (trait(type).quantized) return;
  emit_paged(sink, each, type, type, {.k = seen_as(type, {d, 2, rows, 1}, {1, 2, 0, 3})});
  emit_paged(sink, each, type, type, {.v = seen_as(type, {d, 2, rows, 1}, {1, 0, 2, 3})});
}

/// Enough keys to split among threads, and stretches of several lengths.
void paged_long_cases(const CaseSink& sink, DType type) {
  for (const auto& sequences : std::vector<std::vector<CaseSequence>>{
           {{1, 1030}}, {{1, 700}, {1, 260}}, {{40, 300}}, {{3, 520}, {1, 2}}}) {
    emit_paged(sink, {.d = 8, .dv = 8, .sequences = sequences, .params = {.block = 64}}, type,
               type);
    emit_paged(sink,
               {.d = 8,
                .dv = 8,
                .sequences = sequences,
                .params = {.span = AttentionSpan::kSlidingWindow, .window = 270, .block = 32}},
               type, type);
  }
}

/// Entries before the keys that the tokens of a sequence see name a block of not-a-numbers.
void emit_unseen(const CaseSink& sink, const PagedCase& each, DType type) {
  constexpr std::int64_t kGroup = 64;  // see paged_attention()
  CaseBlocks blocks = blocks_of(each);
  const std::int64_t block = each.params.block;
  double unused = 0;
  while (std::ranges::count(blocks.table, unused) > 0) ++unused;
  for (std::size_t s = 0; s < each.sequences.size(); ++s) {
    const CaseSequence& sequence = each.sequences[s];
    const SeenSpan seen = seen_span(each.params.span, each.params.window,
                                    sequence.keys - sequence.tokens, sequence.keys);
    const auto first = static_cast<std::ptrdiff_t>(blocks.sequences[3 * s + 2]);
    std::fill_n(blocks.table.begin() + first, seen.first / kGroup * kGroup / block, unused);
  }
  const std::int64_t elements = round_up(each.d, trait(type).block_elements) * each.k_heads;
  std::vector<double> values(static_cast<std::size_t>(elements * blocks.rows));
  std::mt19937 random(7);
  for (double& value : values) value = std::uniform_real_distribution<double>(-1, 1)(random);
  std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(unused) * block * elements,
              block * elements, std::numeric_limits<double>::quiet_NaN());
  const CaseSource cache = with_values(
      source_of(type, {elements / each.k_heads, each.k_heads, blocks.rows, 1}), std::move(values));
  emit_paged(sink, each, blocks, type, type, {.k = cache, .v = cache}, "unseen blocks ");
}

void paged_unseen_cases(const CaseSink& sink, DType type) {
  const std::vector<CaseSequence> sequences = {{5, 200}, {1, 129}, {70, 330}, {3, 3}};
  for (const std::int64_t block : {16, 64}) {
    for (const std::int64_t window : {1, 7, 66, 100}) {
      for (const AttentionSpan span : {AttentionSpan::kSlidingWindow, AttentionSpan::kChunked}) {
        emit_unseen(
            sink,
            {.sequences = sequences, .params = {.span = span, .window = window, .block = block}},
            type);
      }
    }
  }
}

/// Sequences and tables as other dimensions of a tensor, and a cache without rows.
void paged_layout_cases(const CaseSink& sink) {
  const CaseBlocks blocks = blocks_of({.sequences = {{3, 33}, {1, 5}}});
  const Params params = Params::of(PagedAttentionParams{.scale = 0.25F, .block = 16});
  const auto emit = [&](std::int64_t rows, const CaseSource& sequences, const CaseSource& table,
                        const char* what) {
    const CaseSource cache = source_of(DType::kF32, {16, 2, rows, 1});
    emit_case(sink, params,
              {source_of(DType::kF32, {16, 4, 4, 1}), cache, cache, sequences, table, not_given(),
               not_given()},
              1e-10, what);
  };
  const auto entries = static_cast<std::int64_t>(blocks.table.size());
  const auto& of = blocks.sequences;
  const CaseSource by_row =
      with_values(seen_as(DType::kI32, {3, 2, 1, 1}, {1, 0, 2, 3}, {0, 1, 0, 0}),
                  {-1, of[0], of[3], -1, of[1], of[4], -1, of[2], of[5]});
  std::vector<double> spaced;
  for (const double block : blocks.table) spaced.insert(spaced.end(), {-1, -1, block});
  const CaseSource apart =
      with_values(seen_as(DType::kI32, {entries, 1, 1, 1}, {1, 0, 2, 3}, {0, 2, 0, 0}), spaced);
  emit(blocks.rows, by_row, apart, "by row ");
  emit(0, with_values(source_of(DType::kI32, {3, 1, 1, 1}), {0, 0, 0}),
       with_values(source_of(DType::kI32, {0, 1, 1, 1}), {}), "no rows ");
}

void paged_attention_cases(const Op&, const CaseSink& sink) {
  for (const DType type : kCacheTypes) {
    paged_size_cases(sink, type);
    paged_param_cases(sink, type);
    paged_mask_cases(sink, type);
    paged_stride_cases(sink, type);
    paged_long_cases(sink, type);
    if (!trait(type).quantized) paged_unseen_cases(sink, type);
  }
  for (const DType k : kCacheTypes) {
    for (const DType v : kCacheTypes) {
      if (k != v) emit_paged(sink, {.dv = 24, .sequences = {{3, 33}, {1, 2}}}, k, v);
    }
  }
  const DType f32 = DType::kF32;
  emit_paged(sink, {.d = 4, .dv = 4, .heads = 2, .k_heads = 1, .sequences = {{3, 16386}, {1, 9}}},
             f32, f32);
  emit_paged(sink, {.heads = 40, .k_heads = 1, .sequences = {{9, 30}}}, f32, f32);
  // More values than a device may have at once.
  for (const DType type : {f32, DType::kQ8_0})
    emit_paged(sink, {.dv = 1100, .sequences = {{2, 40}}}, type, type);
  emit_paged(sink, {.sequences = {}, .idle_tokens = 2}, f32, f32);
  emit_paged(sink, {.sequences = {{0, 5}}}, f32, f32);
  emit_paged(sink, {.heads = 0, .k_heads = 1, .sequences = {{1, 5}}}, f32, f32);
  emit_paged(sink, {.heads = 0, .k_heads = 1, .sequences = {{1, 5}}}, f32, f32,
             {.mask = source_of(f32, {5, 1, 1, 1}), .sinks = source_of(f32, {0, 1, 1, 1})});
  emit_paged(sink, {.sequences = {{0, 0}}, .idle_tokens = 1}, f32, f32,
             {.mask = source_of(f32, {0, 1, 1, 1})});
  emit_paged(sink, {.sequences = {{2, 9}}}, f32, f32,
             {.sinks = seen_as(f32, {4, 1, 1, 1}, {1, 0, 2, 3}, {0, 2, 0, 0})});
  paged_layout_cases(sink);
}

}  // namespace

CaseList attention_paged_cases_list() {
  static constexpr OpCases kCases[] = {
      {paged_attention_op, paged_attention_cases},
  };
  return kCases;
}

}  // namespace shunt
