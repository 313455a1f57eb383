#include "ops/attention/attention_cases.h"

#include <algorithm>
#include <cmath>

#include "ops/attention/attention.h"
#include "ops/common/cases.h"

namespace shunt {

namespace {

constexpr DType kF32 = DType::kF32;
constexpr DType kF16 = DType::kF16;

struct Size {
  std::int64_t d, dv, h, hk, n, t, s;
};

/// A device may round q, the scores and the weights p to the type of k and v.
double case_error(DType k, DType v) {
  return k == kF32 && v == kF32 ? 1e-10 : 5 * std::max(rounding_error(k), rounding_error(v));
}

void emit(const CaseSink& sink, const std::vector<CaseSource>& sources, float scale,
          std::string_view extra = "") {
  sink({.name = describe_sources(sources, fmt::format("{}scale={}", extra, scale)),
        .params = Params::of(AttentionParams{scale}),
        .sources = sources,
        .max_error = case_error(sources[1].dtype, sources[2].dtype)});
}

void emit_plain(const CaseSink& sink, const Size& size, DType k, DType v, const CaseSource& mask,
                std::string_view extra = "") {
  emit(sink,
       {source_of(kF32, {size.d, size.h, size.t, size.s}),
        source_of(k, {size.d, size.hk, size.n, size.s}),
        source_of(v, {size.dv, size.hk, size.n, size.s}), mask},
       1 / std::sqrt(static_cast<float>(size.d)), extra);
}

CaseSource causal(DType type, const Sizes& sizes) {
  return filled(source_of(type, sizes), Fill::kCausalMask, 0, 0);
}

void size_cases(const CaseSink& sink, DType type) {
  constexpr std::array kSizes = {
      Size{16, 16, 1, 1, 1, 1, 1},    Size{16, 16, 2, 2, 7, 1, 1},  Size{16, 16, 4, 2, 33, 3, 1},
      Size{64, 64, 4, 1, 32, 1, 1},   Size{64, 64, 2, 2, 67, 2, 1}, Size{8, 24, 6, 2, 5, 9, 1},
      Size{24, 8, 3, 3, 31, 4, 2},    Size{33, 17, 2, 1, 9, 5, 1},  Size{80, 80, 2, 1, 16, 3, 1},
      Size{128, 128, 2, 1, 20, 2, 1}, Size{16, 16, 8, 2, 66, 5, 2},
  };
  for (const Size& size : kSizes) {
    emit_plain(sink, size, type, type, not_given());
    emit_plain(sink, size, type, type, causal(kF16, {size.n, size.t, 1, 1}), "causal ");
  }
}

void mask_cases(const CaseSink& sink, DType type) {
  const Size size = {16, 16, 4, 2, 33, 3, 2};
  for (DType mask : {kF32, kF16}) {
    for (const Sizes& sizes :
         {Sizes{33, 3, 1, 1}, Sizes{33, 3, 4, 1}, Sizes{33, 3, 1, 2}, Sizes{33, 3, 4, 2}}) {
      emit_plain(sink, size, type, type, source_of(mask, sizes));  // as ALiBi adds
      emit_plain(sink, size, type, type, causal(mask, sizes), "causal ");
    }
    emit_plain(sink, size, type, type, seen_as(mask, {33, 3, 1, 1}, {0, 1, 2, 3}, {5, 2, 0, 0}));
    emit_plain(sink, size, type, type, seen_as(mask, {33, 3, 1, 1}, {1, 0, 2, 3}));
    // What is cut off from a causal mask was all that its first rows allow.
    const CaseSource cut = seen_as(mask, {3, 6, 1, 1}, {0, 1, 2, 3}, {3, 0, 0, 0});
    emit_plain(sink, {16, 16, 4, 2, 3, 6, 1}, type, type, filled(cut, Fill::kCausalMask, 0, 0),
               "causal ");
  }
}

void stride_cases(const CaseSink& sink, DType type) {
  const CaseSource q = source_of(kF32, {16, 4, 3, 2});
  const CaseSource k = source_of(type, {16, 2, 33, 2});
  const CaseSource v = source_of(type, {16, 2, 33, 2});
  const CaseSource mask = causal(kF32, {33, 3, 1, 1});
  emit(sink, {seen_as(kF32, {16, 4, 3, 2}, {0, 2, 1, 3}), k, v, mask}, 0.25F);
  emit(sink, {seen_as(kF32, {16, 4, 3, 2}, {1, 0, 2, 3}), k, v, mask}, 0.25F);
  emit(sink, {seen_as(kF32, {16, 4, 3, 2}, {0, 1, 2, 3}, {16, 2, 1, 0}), k, v, mask}, 0.25F);
  // One head's keys side by side.
  emit(sink, {q, seen_as(type, {16, 2, 33, 2}, {0, 2, 1, 3}), v, mask}, 0.25F);
  emit(sink, {q, k, seen_as(type, {16, 2, 33, 2}, {0, 2, 1, 3}), mask}, 0.25F);
  // A part of a longer cache.
  emit(sink,
       {q, seen_as(type, {16, 2, 33, 2}, {0, 1, 2, 3}, {0, 0, 31, 0}),
        seen_as(type, {16, 2, 33, 2}, {0, 1, 2, 3}, {0, 0, 31, 0}), mask},
       0.25F);
  // Values transposed: those of one element for all n side by side.
  emit(sink, {q, k, seen_as(type, {16, 2, 33, 2}, {1, 2, 0, 3}), mask}, 0.25F);
  emit(sink, {q, seen_as(type, {16, 2, 33, 2}, {1, 0, 2, 3}), v, mask}, 0.25F);
}

}  // namespace

void attention_cases(const CaseSink& sink) {
  for (DType type : kFloatTypes) {
    size_cases(sink, type);
    mask_cases(sink, type);
    stride_cases(sink, type);
    emit_plain(sink, {16, 16, 4, 2, 0, 3, 1}, type, type, not_given());
    emit_plain(sink, {16, 16, 4, 2, 9, 0, 1}, type, type, not_given());
  }
  for (DType k : kFloatTypes) {
    for (DType v : kFloatTypes) {
      if (k != v) emit_plain(sink, {16, 24, 4, 2, 33, 3, 1}, k, v, not_given());
    }
  }
  // Scores of hundreds: exp() of them alone would overflow, and their rounding is felt.
  sink({.name = "F32 scale=50",
        .params = Params::of(AttentionParams{50}),
        .sources = {source_of(kF32, {16, 2, 3, 1}), source_of(kF32, {16, 2, 9, 1}),
                    source_of(kF32, {16, 2, 9, 1}), not_given()},
        .max_error = 1e-8});
}

}  // namespace shunt
