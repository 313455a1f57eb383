#include "conformance/case_ends.h"
#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/state/state.h"

namespace shunt {

namespace {

/// Sequences with different numbers of tokens in a call.
void ssm_conv_ends_cases(const CaseSink& sink) {
  constexpr DType kF32 = DType::kF32;
  constexpr std::int64_t kStates = 7;
  const auto sources_for = [](std::int64_t d, std::int64_t k, const CaseEnds& ends, bool with_ids) {
    const std::int64_t s = ends.sequences();
    return std::vector<CaseSource>{
        source_of(kF32, {d, ends.tokens, 1, 1}), source_of(kF32, {k, d, 1, 1}),
        source_of(kF32, {d, k - 1, with_ids ? kStates : s, 1}),
        with_ids ? filled(source_of(DType::kI32, {s, 1, 1, 1}), Fill::kIndex, 0, kStates)
                 : not_given(),
        ends.source()};
  };
  const auto emit = [&](const std::vector<CaseSource>& sources, const CaseEnds& ends) {
    emit_case(sink, Params::of(NoParams{}), sources, kSumError, ends.name());
  };
  for (const CaseEnds& ends : cases_of_ends()) {
    for (const bool with_ids : {false, true}) {
      for (const std::int64_t taps : {1, 2, 4}) emit(sources_for(40, taps, ends, with_ids), ends);
      emit(sources_for(300, 4, ends, with_ids), ends);
    }
  }
  const CaseEnds ends = usual_ends();
  emit(sources_for(16, 9, ends, true), ends);
  emit(sources_for(0, 4, ends, true), ends);
  const auto with = [&](std::size_t i, const CaseSource& source) {
    std::vector<CaseSource> sources = sources_for(40, 4, ends, true);
    sources[i] = source;
    emit(sources, ends);
  };
  with(0, seen_as(kF32, {40, 7, 1, 1}, {1, 0, 2, 3}));
  with(0, seen_as(kF32, {40, 7, 1, 1}, {0, 2, 1, 3}, {3, 1, 0, 0}));
  with(2, seen_as(kF32, {40, 3, kStates, 1}, {1, 0, 2, 3}));
  with(4, ends.seen({1, 0, 2, 3}, {1, 2, 0, 0}));
  with(4, ends.seen({0, 1, 2, 3}, {2, 0, 0, 0}));
}

void ssm_conv_cases(const Op&, const CaseSink& sink) {
  constexpr DType kF32 = DType::kF32;
  const auto emit = [&](const CaseSource& x, const CaseSource& w, const CaseSource& states,
                        const CaseSource& ids) {
    emit_case(sink, Params::of(NoParams{}), {x, w, states, ids, not_given()}, kSumError);
  };
  const auto ids_of = [](DType type, std::int64_t count, double states) {
    return filled(source_of(type, {count, 1, 1, 1}), Fill::kIndex, 0, states);
  };
  struct Size {
    std::int64_t d, t, s, k;
  };
  constexpr std::array kSizes = {
      Size{1, 1, 1, 1},    Size{7, 3, 1, 4},   Size{64, 1, 1, 4},  Size{64, 2, 3, 4},
      Size{33, 17, 2, 4},  Size{300, 5, 2, 3}, Size{513, 1, 4, 4}, Size{16, 1, 2, 9},
      Size{257, 33, 1, 4}, Size{16, 0, 2, 4},  Size{0, 3, 2, 4},   Size{16, 3, 0, 4},
      Size{20, 6, 2, 1},
  };
  for (const Size& z : kSizes) {
    const CaseSource x = source_of(kF32, {z.d, z.t, z.s, 1});
    const CaseSource w = source_of(kF32, {z.k, z.d, 1, 1});
    emit(x, w, source_of(kF32, {z.d, z.k - 1, z.s, 1}), not_given());
    emit(x, w, source_of(kF32, {z.d, z.k - 1, 5, 1}), ids_of(DType::kI32, z.s, 5));
  }
  const CaseSource x = source_of(kF32, {40, 6, 3, 1});
  const CaseSource w = source_of(kF32, {4, 40, 1, 1});
  const CaseSource states = source_of(kF32, {40, 3, 3, 1});
  emit(x, w, source_of(kF32, {40, 3, 9, 1}), ids_of(DType::kI64, 3, 9));
  emit(x, w, source_of(kF32, {40, 3, 9, 1}),
       filled(seen_as(DType::kI32, {3, 1, 1, 1}, {1, 0, 2, 3}, {1, 2, 0, 0}), Fill::kIndex, 0, 9));
  for (std::int64_t k = 1; k <= 5; ++k) {
    const CaseSource taps = source_of(kF32, {k, 40, 1, 1});
    const CaseSource past = source_of(kF32, {40, k - 1, 7, 1});
    for (std::int64_t t = 1; t <= 5; ++t) {
      emit(source_of(kF32, {40, t, 2, 1}), taps, past, ids_of(DType::kI32, 2, 7));
    }
  }
  emit(seen_as(kF32, {40, 6, 3, 1}, {2, 0, 1, 3}), w, states, not_given());
  emit(x, seen_as(kF32, {4, 40, 1, 1}, {2, 0, 1, 3}, {1, 2, 0, 0}), states, not_given());
  emit(x, w, seen_as(kF32, {40, 3, 3, 1}, {2, 1, 0, 3}), not_given());
  emit(seen_as(kF32, {40, 6, 3, 1}, {1, 0, 2, 3}), w, states, not_given());
  emit(seen_as(kF32, {40, 6, 3, 1}, {0, 2, 1, 3}, {3, 1, 0, 0}), w, states, not_given());
  emit(x, seen_as(kF32, {4, 40, 1, 1}, {1, 0, 2, 3}), states, not_given());
  emit(x, w, seen_as(kF32, {40, 3, 3, 1}, {1, 0, 2, 3}), not_given());
  emit(x, w, seen_as(kF32, {40, 3, 3, 1}, {0, 2, 1, 3}, {1, 0, 2, 0}), not_given());
  ssm_conv_ends_cases(sink);
}

struct ScanSize {
  std::int64_t n, p, h, g, t, s;
};

/// `r` states with ids; 0: one state for each sequence, without ids.
std::vector<CaseSource> ssm_scan_sources(const ScanSize& z, bool scalar_a, std::int64_t r,
                                         DType ids = DType::kI32) {
  constexpr DType kF32 = DType::kF32;
  return {source_of(kF32, {z.p, z.h, z.t, z.s}),
          source_of(kF32, {z.h, z.t, z.s, 1}),
          filled(source_of(kF32, {scalar_a ? 1 : z.n, z.h, 1, 1}), Fill::kUniform, -4, -0.1),
          source_of(kF32, {z.n, z.g, z.t, z.s}),
          source_of(kF32, {z.n, z.g, z.t, z.s}),
          source_of(kF32, {z.n, z.p, z.h, r == 0 ? z.s : r}),
          r == 0 ? not_given()
                 : filled(source_of(ids, {z.s, 1, 1, 1}), Fill::kIndex, 0, static_cast<double>(r)),
          not_given()};
}

std::vector<CaseSource> ssm_scan_sources_with_ends(ScanSize z, bool scalar_a, const CaseEnds& ends,
                                                   std::int64_t r) {
  z.t = ends.tokens;
  z.s = 1;
  std::vector<CaseSource> sources = ssm_scan_sources(z, scalar_a, r);
  sources[5].sizes[3] = r == 0 ? ends.sequences() : r;
  sources[6].sizes[0] = ends.sequences();
  sources[7] = ends.source();
  return sources;
}

/// Sequences of many tokens, which a device may compute in chunks.
void ssm_scan_chunk_cases(const CaseSink& sink) {
  const auto emit = [&](const std::vector<CaseSource>& sources, const std::string& what) {
    emit_case(sink, Params::of(NoParams{}), sources, kSumError, what);
  };
  constexpr ScanSize kSize = {32, 40, 2, 1, 0, 0};
  for (const CaseEnds& ends : ends_of_chunks()) {
    const std::vector<CaseSource> plain = ssm_scan_sources_with_ends(kSize, true, ends, 6);
    emit(plain, ends.name());
    if (ends.sequences() == 1) continue;
    const auto with = [&](std::size_t i, double low, double high) {
      std::vector<CaseSource> sources = plain;
      sources[i] = filled(plain[i], Fill::kUniform, low, high);
      emit(sources,
           fmt::format("{} from {} to {} {}", i == 1 ? "steps" : "decays", low, high, ends.name()));
    };
    with(1, -30, 30);
    with(1, -10, -5);
    with(2, -50, 0);
    with(2, -1000, -100);
  }
  const CaseEnds ends = {40, {23, 40}};
  const std::vector<CaseSource> plain =
      ssm_scan_sources_with_ends({24, 20, 4, 2, 0, 0}, true, ends, 6);
  for (std::size_t i = 0; i < 6; ++i) {
    std::vector<CaseSource> seen = plain;
    seen[i] = filled(seen_as(DType::kF32, sizes_of(plain[i]), {1, 0, 2, 3}), plain[i].fill,
                     plain[i].low, plain[i].high);
    emit(seen, ends.name());
  }
}

/// Sequences with different numbers of tokens in a call.
void ssm_scan_ends_cases(const CaseSink& sink) {
  const auto emit = [&](const std::vector<CaseSource>& sources, const CaseEnds& ends) {
    emit_case(sink, Params::of(NoParams{}), sources, kSumError, ends.name());
  };
  constexpr ScanSize kMamba1 = {16, 1, 40, 1, 0, 0};
  constexpr ScanSize kMamba2 = {32, 5, 6, 3, 0, 0};
  for (const CaseEnds& ends : cases_of_ends()) {
    for (const std::int64_t states : {0, 6}) {
      emit(ssm_scan_sources_with_ends(kMamba1, false, ends, states), ends);
      emit(ssm_scan_sources_with_ends(kMamba2, true, ends, states), ends);
    }
  }
  const CaseEnds ends = usual_ends();
  emit(ssm_scan_sources_with_ends({16, 4, 0, 1, 0, 0}, true, ends, 6), ends);
  emit(ssm_scan_sources_with_ends({0, 4, 4, 1, 0, 0}, true, ends, 6), ends);
  const std::vector<CaseSource> plain = ssm_scan_sources_with_ends(kMamba2, true, ends, 6);
  const auto with = [&](std::size_t i, const CaseSource& source) {
    std::vector<CaseSource> sources = plain;
    sources[i] = source;
    emit(sources, ends);
  };
  for (const std::size_t i : {0, 1, 3, 4, 5})
    with(i, seen_as(DType::kF32, sizes_of(plain[i]), {0, 2, 1, 3}, {3, 1, 0, 0}));
  with(7, ends.seen({1, 0, 2, 3}, {1, 2, 0, 0}));
  with(7, ends.seen({0, 1, 2, 3}, {2, 0, 0, 0}));
}

void ssm_scan_cases(const Op&, const CaseSink& sink) {
  constexpr DType kF32 = DType::kF32;
  const auto emit = [&](const std::vector<CaseSource>& sources, std::string_view extra = "") {
    emit_case(sink, Params::of(NoParams{}), sources, kSumError, extra);
  };
  constexpr std::array kMamba1 = {ScanSize{16, 1, 1, 1, 1, 1},  ScanSize{16, 1, 40, 1, 5, 2},
                                  ScanSize{5, 1, 33, 1, 9, 1},  ScanSize{16, 1, 130, 1, 3, 3},
                                  ScanSize{1, 1, 7, 1, 4, 2},   ScanSize{16, 1, 20, 1, 0, 2},
                                  ScanSize{16, 1, 20, 1, 2, 0}, ScanSize{16, 1, 0, 1, 2, 2}};
  constexpr std::array kMamba2 = {ScanSize{64, 16, 2, 1, 5, 1}, ScanSize{128, 8, 4, 2, 3, 2},
                                  ScanSize{33, 5, 6, 3, 7, 1},  ScanSize{16, 20, 3, 3, 1, 3},
                                  ScanSize{32, 4, 4, 1, 40, 1}, ScanSize{0, 4, 4, 1, 3, 1},
                                  ScanSize{136, 3, 2, 1, 4, 2}};
  for (std::int64_t states : {0, 6}) {
    for (const ScanSize& size : kMamba1) emit(ssm_scan_sources(size, false, states));
    for (const ScanSize& size : kMamba2) {
      emit(ssm_scan_sources(size, true, states));
      if (size.n > 1) emit(ssm_scan_sources(size, false, states));
    }
  }
  constexpr ScanSize kSize = {16, 4, 6, 2, 5, 3};
  const auto with = [&](std::size_t i, const CaseSource& source) {
    std::vector<CaseSource> sources = ssm_scan_sources(kSize, true, 0);
    sources[i] = source;
    emit(sources);
  };
  const std::vector<CaseSource> plain = ssm_scan_sources(kSize, true, 0);
  for (std::size_t i : {0, 1, 3, 4, 5}) {
    with(i, seen_as(kF32, sizes_of(plain[i]), {1, 0, 2, 3}));
    with(i, seen_as(kF32, sizes_of(plain[i]), {0, 2, 1, 3}, {3, 1, 0, 0}));
  }
  for (const std::int64_t states : {1, 6}) emit(ssm_scan_sources(kSize, true, states, DType::kI64));
  std::vector<CaseSource> chosen = ssm_scan_sources(kSize, true, 6, DType::kI64);
  chosen[6] =
      filled(seen_as(DType::kI64, {3, 1, 1, 1}, {1, 0, 2, 3}, {0, 1, 0, 0}), Fill::kIndex, 0, 6);
  emit(chosen);
  with(2, filled(seen_as(kF32, {1, 6, 1, 1}, {1, 0, 2, 3}), Fill::kUniform, -4, -0.1));
  with(2,
       filled(seen_as(kF32, {1, 6, 1, 1}, {1, 0, 2, 3}, {2, 1, 0, 0}), Fill::kUniform, -4, -0.1));
  with(1, filled(plain[1], Fill::kUniform, -30, 30));
  emit(ssm_scan_sources({32, 16, 4, 2, 37, 2}, true, 0));
  ssm_scan_ends_cases(sink);
  ssm_scan_chunk_cases(sink);
}

}  // namespace

CaseList state_space_cases_list() {
  static constexpr OpCases kCases[] = {
      {ssm_conv_op, ssm_conv_cases},
      {ssm_scan_op, ssm_scan_cases},
  };
  return kCases;
}

}  // namespace shunt
