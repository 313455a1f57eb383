#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/attention/attention.h"
#include "ops/common/type_lists.h"

namespace shunt {

namespace {

void emit_softmax(const CaseSink& sink, const CaseSource& x, const CaseSource& mask,
                  const SoftmaxParams& given, const CaseSource& sinks = not_given()) {
  const Params params = Params::of(given);
  const std::string how = mask.fill == Fill::kCausalMask ? "causal " : "";
  emit_case(sink, params, {x, mask, sinks}, kSumError, how + softmax_op().describe(params));
}

void softmax_mask_cases(const CaseSink& sink, DType type) {
  constexpr DType kF32 = DType::kF32;
  const CaseSource x = source_of(kF32, {33, 4, 3, 2});
  for (const Sizes& sizes : {Sizes{33, 4, 1, 2}, Sizes{33, 4, 3, 1}, Sizes{33, 4, 3, 2}}) {
    emit_softmax(sink, x, source_of(type, sizes), {.scale = 1});
    emit_softmax(sink, x, filled(source_of(type, sizes), Fill::kCausalMask, 0, 0), {.scale = 1});
    emit_softmax(sink, x, source_of(type, sizes), {.scale = 1, .max_bias = 8});
  }
  emit_softmax(sink, x, seen_as(type, {33, 4, 1, 1}, {0, 1, 2, 3}, {7, 2, 0, 0}), {.scale = 1});
  emit_softmax(sink, x, seen_as(type, {33, 4, 1, 1}, {1, 0, 2, 3}), {.scale = -1});
  // The slice drops all visible columns of the first rows of a causal mask.
  const CaseSource cut =
      filled(seen_as(type, {3, 6, 1, 1}, {0, 1, 2, 3}, {3, 0, 0, 0}), Fill::kCausalMask, 0, 0);
  emit_softmax(sink, source_of(kF32, {3, 6, 2, 1}), cut, {.scale = 1});
  emit_softmax(sink, source_of(kF32, {3, 6, 2, 1}), cut, {.scale = 1},
               source_of(kF32, {2, 1, 1, 1}));
  for (std::int64_t heads : {1, 2, 3, 8, 12}) {
    const CaseSource many = source_of(kF32, {17, 2, heads, 1});
    const CaseSource sinks = source_of(kF32, {heads, 1, 1, 1});
    for (float max_bias : {8.0F, 5.5F}) {
      emit_softmax(sink, many, source_of(type, {17, 2, 1, 1}),
                   {.scale = 0.5F, .max_bias = max_bias});
    }
    emit_softmax(sink, many, source_of(type, {17, 2, 1, 1}), {.scale = 0.5F, .max_bias = 8}, sinks);
    emit_softmax(sink, many, filled(source_of(type, {17, 2, heads, 1}), Fill::kCausalMask, 0, 0),
                 {.scale = 0.5F, .max_bias = 8}, sinks);
  }
}

void softmax_cases(const Op&, const CaseSink& sink) {
  emit_softmax(sink, source_of(DType::kF32, {33, 4, 0, 2}), not_given(), {.scale = 1},
               source_of(DType::kF32, {0, 1, 1, 1}));
  constexpr DType kF32 = DType::kF32;
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      const Sizes sizes = sizes_of(x);
      emit_softmax(sink, x, not_given(), {.scale = 1});
      emit_softmax(sink, x, source_of(DType::kF16, {sizes[0], sizes[1], 1, 1}), {.scale = 0.7F});
      emit_softmax(sink, x, not_given(), {.scale = 0.5F}, source_of(kF32, {sizes[2], 1, 1, 1}));
      if (type != kF32) continue;
      // exp() without subtracting the maximum would overflow.
      const CaseSource large = filled(x, Fill::kUniform, -500, 500);
      emit_softmax(sink, large, not_given(), {.scale = 0.25F});
      emit_softmax(sink, large, not_given(), {.scale = -0.25F});
      emit_softmax(sink, large, not_given(), {.scale = 0.25F},
                   filled(source_of(kF32, {sizes[2], 1, 1, 1}), Fill::kUniform, 0, 200));
      emit_softmax(sink, x, filled(source_of(kF32, sizes), Fill::kCausalMask, 0, 0),
                   {.scale = 0.125F});
    }
  }
  for (DType type : {DType::kF32, DType::kF16}) softmax_mask_cases(sink, type);
  emit_softmax(sink, source_of(kF32, {33, 4, 3, 2}), not_given(), {.scale = 1},
               seen_as(kF32, {3, 1, 1, 1}, {1, 0, 2, 3}, {0, 2, 0, 0}));
}

}  // namespace

CaseList attention_softmax_cases_list() {
  static constexpr OpCases kCases[] = {
      {softmax_op, softmax_cases},
  };
  return kCases;
}

}  // namespace shunt
