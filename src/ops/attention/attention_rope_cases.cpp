#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/attention/attention.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

void emit_rope(const CaseSink& sink, const CaseSource& x, const RopeParams& given, bool factors,
               std::int64_t context = 64) {
  const std::int64_t positions_of_a_token =
      has_sections(given.mode) ? static_cast<std::int64_t>(given.sections.size()) : 1;
  const CaseSource positions =
      filled(source_of(DType::kI32, {sizes_of(x)[2], positions_of_a_token, 1, 1}), Fill::kIndex, 0,
             static_cast<double>(context));
  const CaseSource freq_factors =
      factors ? filled(source_of(DType::kF32, {given.dims / 2, 1, 1, 1}), Fill::kUniform, 0.5, 4)
              : not_given();
  const Params params = Params::of(given);
  emit_case(sink, params, {x, positions, freq_factors}, kElementError,
            fmt::format("below {} {}", context, rope_op().describe(params)));
}

void rope_section_cases(const CaseSink& sink) {
  constexpr DType kF32 = DType::kF32;
  using Sections = std::array<std::int64_t, 4>;
  for (RopeMode mode : {RopeMode::kMulti, RopeMode::kVision}) {
    // Time, row and column; rows and columns of an image; equal sections; empty sections.
    for (const Sections& sections : {Sections{8, 12, 12, 0}, Sections{16, 16, 0, 0},
                                     Sections{8, 8, 8, 8}, Sections{0, 31, 0, 1}}) {
      RopeParams params = {.dims = 64, .mode = mode, .sections = sections};
      for (bool factors : {false, true})
        emit_rope(sink, source_of(kF32, {64, 3, 5, 1}), params, factors);
      emit_rope(sink, source_of(kF32, {80, 9, 2, 2}), params, false);
      emit_rope(sink, seen_as(kF32, {64, 3, 5, 2}, {0, 2, 1, 3}), params, true);
      params.freq_scale = 0.25F;
      params.ext_factor = 1;
      params.original_context = 2048;
      emit_rope(sink, source_of(kF32, {64, 3, 5, 1}), params, true);
    }
    emit_rope(sink, source_of(kF32, {2, 1, 1, 1}),
              {.dims = 2, .mode = mode, .sections = {0, 0, 0, 1}}, false);
    emit_rope(sink, source_of(kF32, {7, 2, 3, 1}),
              {.dims = 6, .mode = mode, .sections = {2, 1, 0, 0}}, true);
    emit_rope(sink, source_of(kF32, {16, 4, 0, 1}),
              {.dims = 16, .mode = mode, .sections = {3, 3, 2, 0}}, false);
    const RopeParams params = {.dims = 8, .mode = mode, .sections = {1, 2, 1, 0}};
    const std::vector<CaseSource> sources = {
        source_of(kF32, {8, 2, 3, 1}),
        filled(seen_as(DType::kI32, {3, 4, 1, 1}, {1, 0, 2, 3}, {1, 0, 0, 0}), Fill::kIndex, -50,
               50),
        not_given()};
    emit_case(sink, Params::of(params), sources, kElementError,
              rope_op().describe(Params::of(params)));
  }
}

/// Of rope and rope_back, which have the same sources and parameters.
void rope_cases(const Op&, const CaseSink& sink) {
  constexpr DType kF32 = DType::kF32;
  struct Size {
    Sizes x;
    std::int64_t dims;
  };
  rope_section_cases(sink);
  constexpr std::array kSizes = {
      Size{{2, 1, 1, 1}, 2},       Size{{64, 1, 1, 1}, 64}, Size{{64, 3, 5, 1}, 64},
      Size{{64, 3, 5, 2}, 32},     Size{{80, 2, 9, 1}, 80}, Size{{80, 2, 3, 1}, 20},
      Size{{7, 2, 3, 1}, 4},       Size{{16, 4, 0, 1}, 16}, Size{{128, 2, 2, 1}, 128},
      Size{{1044, 2, 2, 1}, 1040},
  };
  for (RopeMode mode : {RopeMode::kNormal, RopeMode::kNeox}) {
    const Params strided = Params::of(RopeParams{.dims = 8, .mode = mode});
    const std::vector<CaseSource> sources = {
        source_of(kF32, {8, 2, 3, 1}),
        filled(seen_as(DType::kI32, {3, 1, 1, 1}, {1, 0, 2, 3}, {1, 2, 0, 0}), Fill::kIndex, -50,
               50),
        filled(seen_as(kF32, {4, 1, 1, 1}, {1, 0, 2, 3}, {1, 2, 0, 0}), Fill::kUniform, 1, 4)};
    emit_case(sink, strided, sources, kElementError, rope_op().describe(strided));
    for (const Size& size : kSizes) {
      for (bool factors : {false, true}) {
        emit_rope(sink, source_of(kF32, size.x), {.dims = size.dims, .mode = mode}, factors);
      }
    }
    RopeParams params = {.dims = 64, .mode = mode};
    emit_rope(sink, seen_as(kF32, {64, 3, 5, 2}, {0, 2, 1, 3}), params, false);
    emit_rope(sink, seen_as(kF32, {64, 3, 5, 1}, {1, 0, 2, 3}), params, false);
    emit_rope(sink, seen_as(kF32, {64, 3, 5, 2}, {0, 1, 2, 3}, {64, 1, 2, 0}), params, true);
    for (DType type : {DType::kF16, DType::kBF16}) {
      emit_rope(sink, source_of(type, {64, 3, 5, 1}), params, false);
      emit_rope(sink, source_of(type, {80, 9, 2, 2}), params, true);
      emit_rope(sink, seen_as(type, {64, 3, 5, 1}, {1, 0, 2, 3}), params, false);
    }
    // Angles of thousands of turns, where F32 loses digits.
    emit_rope(sink, source_of(kF32, {64, 3, 5, 1}), params, false, 4096);
    params.freq_base = 500000;
    params.freq_scale = 0.25F;
    emit_rope(sink, source_of(kF32, {64, 3, 5, 1}), params, false);
    params.attn_factor = 0.8F;
    emit_rope(sink, source_of(kF32, {64, 3, 5, 1}), params, true);
    for (float ext_factor : {0.5F, 1.0F}) {
      for (bool factors : {false, true}) {
        const RopeParams yarn = {.dims = 64,
                                 .mode = mode,
                                 .freq_scale = 0.25F,
                                 .ext_factor = ext_factor,
                                 .attn_factor = 0.9F,
                                 .original_context = 2048};
        emit_rope(sink, source_of(kF32, {64, 3, 5, 1}), yarn, factors);
        emit_rope(sink, source_of(kF32, {96, 2, 3, 2}), yarn, factors);
      }
    }
  }
}

}  // namespace

CaseList attention_rope_cases_list() {
  static constexpr OpCases kCases[] = {
      {rope_op, rope_cases},
      {rope_back_op, rope_cases},
  };
  return kCases;
}

}  // namespace shunt
