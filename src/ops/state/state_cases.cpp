#include "conformance/case_ends.h"
#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/state/state.h"

namespace shunt {

namespace {

struct HeadSize {
  std::int64_t k, v, h, t, s;
};

/// An op's sources for a size without ids and ends; a state for each sequence comes last.
using SourcesOf = std::vector<CaseSource> (*)(const HeadSize& size);

constexpr std::int64_t kCaseStates = 6;

/// The same with a state for each of the ends, or with states and ids for them.
std::vector<CaseSource> sources_with_ends(SourcesOf sources_of, HeadSize size, const CaseEnds& ends,
                                          bool with_ids) {
  size.t = ends.tokens;
  size.s = 1;
  std::vector<CaseSource> sources = sources_of(size);
  sources.back().sizes[3] = with_ids ? kCaseStates : ends.sequences();
  sources.push_back(with_ids ? filled(source_of(DType::kI32, {ends.sequences(), 1, 1, 1}),
                                      Fill::kIndex, 0, kCaseStates)
                             : not_given());
  sources.push_back(ends.source());
  return sources;
}

/// Sequences with different numbers of tokens in a call.
void ends_cases(const Op& op, const CaseSink& sink, SourcesOf sources_of, const Params& params) {
  const auto emit = [&](const std::vector<CaseSource>& sources, const CaseEnds& ends) {
    emit_case(sink, params, sources, kSumError, op.describe(params) + " " + ends.name());
  };
  for (const CaseEnds& ends : cases_of_ends()) {
    for (const bool with_ids : {false, true}) {
      emit(sources_with_ends(sources_of, {16, 24, 3, 0, 0}, ends, with_ids), ends);
      emit(sources_with_ends(sources_of, {7, 7, 2, 0, 0}, ends, with_ids), ends);
    }
  }
  const CaseEnds ends = usual_ends();
  for (const HeadSize& size : {HeadSize{64, 64, 1, 0, 0}, HeadSize{33, 20, 4, 0, 0},
                               HeadSize{16, 16, 0, 0, 0}, HeadSize{0, 16, 2, 0, 0}}) {
    emit(sources_with_ends(sources_of, size, ends, true), ends);
  }
  const std::vector<CaseSource> plain =
      sources_with_ends(sources_of, {24, 24, 3, 0, 0}, ends, true);
  std::vector<CaseSource> seen = plain;
  seen.back() = ends.seen({1, 0, 2, 3}, {1, 2, 0, 0});
  emit(seen, ends);
  seen.back() = ends.seen({0, 1, 2, 3}, {2, 0, 0, 0});
  emit(seen, ends);
  for (std::size_t i = 0; i + 2 < plain.size(); ++i) {
    seen = plain;
    seen[i] = filled(seen_as(DType::kF32, sizes_of(plain[i]), {0, 2, 1, 3}, {3, 1, 0, 0}),
                     plain[i].fill, plain[i].low, plain[i].high);
    emit(seen, ends);
  }
}

/// Sizes, states chosen by number, and strides of a recurrence over keys and values. Every case has
/// the first of `params`, and one case has each of the others.
void recurrence_cases(const Op& op, const CaseSink& sink, SourcesOf sources_of,
                      const std::vector<Params>& params) {
  const auto emit = [&](const std::vector<CaseSource>& sources, const Params& given) {
    emit_case(sink, given, sources, kSumError, op.describe(given));
  };
  const auto without_ids = [&](const HeadSize& size) {
    std::vector<CaseSource> sources = sources_of(size);
    sources.insert(sources.end(), 2, not_given());
    return sources;
  };
  constexpr std::array kSizes = {
      HeadSize{64, 64, 2, 1, 1}, HeadSize{64, 64, 2, 9, 1}, HeadSize{16, 16, 3, 5, 2},
      HeadSize{32, 32, 1, 1, 4}, HeadSize{7, 7, 4, 3, 2},   HeadSize{33, 20, 2, 6, 1},
      HeadSize{8, 40, 2, 4, 3},  HeadSize{1, 1, 1, 3, 1},   HeadSize{16, 16, 2, 40, 1},
      HeadSize{16, 16, 2, 0, 2}, HeadSize{16, 16, 2, 3, 0}, HeadSize{16, 16, 0, 3, 2},
      HeadSize{0, 16, 2, 3, 1},  HeadSize{136, 4, 2, 3, 1},
  };
  for (const HeadSize& size : kSizes) {
    std::vector<CaseSource> sources = without_ids(size);
    emit(sources, params[0]);
    CaseSource& ids = sources[sources.size() - 2];
    ids = filled(source_of(size.k % 2 == 0 ? DType::kI32 : DType::kI64, {size.s, 1, 1, 1}),
                 Fill::kIndex, 0, kCaseStates);
    sources[sources.size() - 3].sizes[3] = kCaseStates;
    emit(sources, params[0]);
  }
  constexpr HeadSize kSize = {24, 24, 3, 5, 2};
  std::vector<CaseSource> by_number = without_ids(kSize);
  by_number[by_number.size() - 3].sizes[3] = kCaseStates;
  by_number[by_number.size() - 2] =
      filled(seen_as(DType::kI64, {kSize.s, 1, 1, 1}, {1, 0, 2, 3}, {1, 2, 0, 0}), Fill::kIndex, 0,
             kCaseStates);
  emit(by_number, params[0]);
  const std::vector<CaseSource> plain = without_ids(kSize);
  for (std::size_t i = 0; i + 2 < plain.size(); ++i) {
    const auto seen = [&](const std::array<int, kMaxDims>& permute, const Sizes& slice) {
      std::vector<CaseSource> sources = plain;
      sources[i] = filled(seen_as(DType::kF32, sizes_of(plain[i]), permute, slice), plain[i].fill,
                          plain[i].low, plain[i].high);
      emit(sources, params[0]);
    };
    seen({1, 0, 2, 3}, {0, 0, 0, 0});
    seen({0, 2, 1, 3}, {3, 1, 0, 0});
    seen({0, 1, 2, 3}, {1, 0, 2, 1});
    seen({3, 0, 1, 2}, {0, 0, 0, 0});
    seen({2, 1, 0, 3}, {0, 1, 0, 2});
  }
  for (std::size_t i = 1; i < params.size(); ++i) emit(plain, params[i]);
  ends_cases(op, sink, sources_of, params[0]);
}

/// `k_heads` heads of q and k; one gate for each channel of the key, or one for all channels.
std::vector<CaseSource> gated_delta_net_sources_for(const HeadSize& z, std::int64_t k_heads,
                                                    bool gate_each) {
  constexpr DType kF32 = DType::kF32;
  // Keys of length about 1, as in models: the state stays small.
  const CaseSource keys =
      filled(source_of(kF32, {z.k, k_heads, z.t, z.s}), Fill::kUniform, -0.2, 0.2);
  const CaseSource gate = source_of(kF32, {gate_each ? z.k : 1, z.h, z.t, z.s});
  return {source_of(kF32, {z.k, k_heads, z.t, z.s}),
          keys,
          source_of(kF32, {z.v, z.h, z.t, z.s}),
          filled(gate, Fill::kUniform, -1, 0),
          filled(source_of(kF32, {1, z.h, z.t, z.s}), Fill::kUniform, 0, 1),
          source_of(kF32, {z.k, z.v, z.h, z.s})};
}

std::vector<CaseSource> gated_delta_net_sources(const HeadSize& z) {
  return gated_delta_net_sources_for(z, z.h, z.v % 2 == 1);
}

/// Sequences of many tokens, which a device may compute in chunks.
void gated_delta_net_chunk_cases(const Op& op, const CaseSink& sink) {
  const Params params = Params::of(GatedDeltaNetParams{0.25F});
  const HeadSize size = {32, 40, 2, 0, 0};
  const auto one_head = [](const HeadSize& z) { return gated_delta_net_sources_for(z, 1, false); };
  const auto emit = [&](const std::vector<CaseSource>& sources, const std::string& what) {
    emit_case(sink, params, sources, kSumError, op.describe(params) + " " + what);
  };
  for (const CaseEnds& ends : ends_of_chunks()) {
    const std::vector<CaseSource> plain = sources_with_ends(one_head, size, ends, true);
    emit(plain, ends.name());
    if (ends.sequences() == 1) continue;
    const auto with = [&](std::size_t i, double low, double high) {
      std::vector<CaseSource> sources = plain;
      sources[i] = filled(plain[i], Fill::kUniform, low, high);
      emit(sources,
           fmt::format("{} from {} to {} {}", i == 3 ? "gates" : "shares", low, high, ends.name()));
    };
    with(3, 0, 0);
    with(3, -1e-3, 0);
    with(3, -50, 0);
    with(3, -1000, -80);
    with(4, 0, 0);
    with(4, 1, 1);
  }
  const CaseEnds ends = {40, {23, 40}};
  const std::vector<CaseSource> plain = sources_with_ends(one_head, size, ends, true);
  for (std::size_t i = 0; i + 2 < plain.size(); ++i) {
    std::vector<CaseSource> seen = plain;
    seen[i] = filled(seen_as(DType::kF32, sizes_of(plain[i]), {1, 0, 2, 3}), plain[i].fill,
                     plain[i].low, plain[i].high);
    emit(seen, ends.name());
  }
  // One key for all tokens, of length 1: each takes the place of the one before.
  std::vector<CaseSource> one_key = plain;
  one_key[1] = with_values(plain[1], std::vector<double>(32 * 40, 0x1.6a09e6p-3));
  emit(one_key, "one key " + ends.name());
}

void gated_delta_net_cases(const Op& op, const CaseSink& sink) {
  const Params params = Params::of(GatedDeltaNetParams{0.25F});
  recurrence_cases(
      op, sink, gated_delta_net_sources,
      {params, Params::of(GatedDeltaNetParams{}), Params::of(GatedDeltaNetParams{-2})});
  const auto emit = [&](const HeadSize& size, std::int64_t k_heads, bool gate_each) {
    std::vector<CaseSource> sources = gated_delta_net_sources_for(size, k_heads, gate_each);
    sources.insert(sources.end(), 2, not_given());
    emit_case(sink, params, sources, kSumError, op.describe(params));
  };
  for (bool gate_each : {false, true}) {
    emit({32, 48, 6, 7, 2}, 1, gate_each);
    emit({32, 48, 6, 7, 2}, 3, gate_each);
    emit({64, 64, 2, 33, 1}, 2, gate_each);
  }
  emit({16, 16, 4, 37, 2}, 2, false);
  gated_delta_net_chunk_cases(op, sink);
}

std::vector<CaseSource> gated_linear_attn_sources(const HeadSize& z) {
  constexpr DType kF32 = DType::kF32;
  const CaseSource keys = source_of(kF32, {z.k, z.h, z.t, z.s});
  return {keys, keys, source_of(kF32, {z.v, z.h, z.t, z.s}), filled(keys, Fill::kUniform, 0.5, 1),
          source_of(kF32, {z.v, z.k, z.h, z.s})};
}

void gated_linear_attn_cases(const Op& op, const CaseSink& sink) {
  recurrence_cases(op, sink, gated_linear_attn_sources,
                   {Params::of(GatedLinearAttnParams{0.25F}), Params::of(GatedLinearAttnParams{}),
                    Params::of(GatedLinearAttnParams{-2})});
}

std::vector<CaseSource> rwkv_wkv6_sources(const HeadSize& z) {
  constexpr DType kF32 = DType::kF32;
  const CaseSource keys = source_of(kF32, {z.k, z.h, z.t, z.s});
  return {keys,
          filled(keys, Fill::kUniform, 0.5, 1),
          keys,
          source_of(kF32, {z.v, z.h, z.t, z.s}),
          source_of(kF32, {z.k, z.h, 1, 1}),
          source_of(kF32, {z.v, z.k, z.h, z.s})};
}

void rwkv_wkv6_cases(const Op& op, const CaseSink& sink) {
  recurrence_cases(op, sink, rwkv_wkv6_sources, {Params::of(NoParams{})});
}

std::vector<CaseSource> rwkv_wkv7_sources(const HeadSize& z) {
  constexpr DType kF32 = DType::kF32;
  const CaseSource keys = source_of(kF32, {z.k, z.h, z.t, z.s});
  // As in models, where b is at most about as long as -a, which has length 1: the state stays
  // small.
  const CaseSource removal = filled(keys, Fill::kUniform, -0.2, 0.2);
  return {keys,
          filled(keys, Fill::kUniform, 0.5, 1),
          keys,
          source_of(kF32, {z.v, z.h, z.t, z.s}),
          removal,
          removal,
          source_of(kF32, {z.k, z.v, z.h, z.s})};
}

void rwkv_wkv7_cases(const Op& op, const CaseSink& sink) {
  recurrence_cases(op, sink, rwkv_wkv7_sources, {Params::of(NoParams{})});
}

}  // namespace

CaseList state_cases_list() {
  static constexpr OpCases kCases[] = {
      {gated_delta_net_op, gated_delta_net_cases},
      {gated_linear_attn_op, gated_linear_attn_cases},
      {rwkv_wkv6_op, rwkv_wkv6_cases},
      {rwkv_wkv7_op, rwkv_wkv7_cases},
  };
  return kCases;
}

}  // namespace shunt
