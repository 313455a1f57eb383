#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

void count_equal_cases(const Op&, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& a, const CaseSource& b) {
    emit_case(sink, Params::of(NoParams{}),
              {filled(a, Fill::kIndex, 0, 3), filled(b, Fill::kIndex, 0, 3)}, 0);
  };
  for (const DType ta : kIdTypes) {
    for (const CaseSource& a : unary_sources(ta)) emit(a, source_of(ta, sizes_of(a)));
    for (const DType tb : kIdTypes) {
      const Sizes sizes = {33, 4, 3, 2};
      emit(source_of(ta, sizes), seen_as(tb, sizes, {1, 0, 2, 3}));
      emit(source_of(ta, sizes), seen_as(tb, sizes, {0, 2, 1, 3}, {3, 1, 0, 1}));
      emit(seen_as(ta, sizes, {2, 1, 0, 3}), seen_as(tb, sizes, {1, 2, 0, 3}));
      emit(source_of(ta, {5000, 7, 1, 1}), source_of(tb, {5000, 7, 1, 1}));
    }
  }
}

void get_rows_back_cases(const Op& op, const CaseSink& sink) {
  const auto emit_by = [&](const CaseSource& dy, std::int64_t rows, const CaseSource& ids) {
    const Params params = Params::of(GetRowsBackParams{rows});
    emit_case(sink, params, {dy, filled(ids, Fill::kIndex, 0, static_cast<double>(rows))},
              kSumError, op.describe(params));
  };
  const auto emit = [&](const CaseSource& dy, std::int64_t rows, DType id_type) {
    emit_by(dy, rows, source_of(id_type, {sizes_of(dy)[1], 1, 1, 1}));
  };
  constexpr DType kF32 = DType::kF32;
  for (DType id_type : kIdTypes) {
    for (std::int64_t rows : {1, 7, 100}) {
      emit(source_of(kF32, {64, 10, 1, 1}), rows, id_type);
      // The ids are a column of a matrix.
      emit_by(source_of(kF32, {64, 5, 1, 1}), rows,
              seen_as(id_type, {5, 1, 1, 1}, {1, 0, 2, 3}, {0, 2, 0, 0}));
      emit(source_of(kF32, {1, 30, 1, 1}), rows, id_type);
      emit(source_of(kF32, {32, 70, 1, 1}), rows, id_type);
      emit(seen_as(kF32, {5, 133, 1, 1}, {1, 0, 2, 3}), rows, id_type);
      emit(source_of(kF32, {333, 5, 1, 1}), rows, id_type);
      emit(source_of(kF32, {64, 0, 1, 1}), rows, id_type);
      emit(source_of(kF32, {0, 3, 1, 1}), rows, id_type);
      for (std::int64_t length : {2, 3, 7, 8, 15, 17, 31, 65}) {
        emit(source_of(kF32, {length, 9, 1, 1}), rows, id_type);
      }
      emit(seen_as(kF32, {33, 7, 1, 1}, {1, 0, 2, 3}), rows, id_type);
      emit(seen_as(kF32, {33, 7, 1, 1}, {2, 0, 1, 3}), rows, id_type);
      emit(seen_as(kF32, {33, 7, 1, 1}, {0, 1, 2, 3}, {3, 1, 0, 0}), rows, id_type);
      emit(seen_as(kF32, {33, 7, 1, 1}, {0, 2, 1, 3}, {1, 2, 0, 0}), rows, id_type);
    }
  }
}

void opt_step_adamw_cases(const Op& op, const CaseSink& sink) {
  for (std::int64_t step : {1, 2, 1000}) {
    // v is a mean of squares, so it is never negative.
    const CaseSource rate = filled(source_of(DType::kF32, {1, 1, 1, 1}), Fill::kUniform, 0.01, 0.5);
    const auto at_step = static_cast<double>(step);
    const CaseSource steps =
        filled(source_of(DType::kI32, {1, 1, 1, 1}), Fill::kIndex, at_step, at_step + 1);
    const auto emit = [&](const CaseSource& w, const CaseSource& m, const CaseSource& v,
                          const AdamwParams& params) {
      const Params given = Params::of(params);
      emit_case(sink, given, {w, m, filled(v, Fill::kUniform, 0.01, 4), rate, steps}, kElementError,
                fmt::format("at step {} {}", step, op.describe(given)));
    };
    constexpr AdamwParams kDecay = {.weight_decay = 0.1F};
    for (const CaseSource& w : unary_sources(DType::kF32)) {
      const CaseSource plain = source_of(DType::kF32, sizes_of(w));
      emit(w, plain, plain, kDecay);
    }
    const Sizes sizes = {33, 4, 3, 2};
    const CaseSource w = source_of(DType::kF32, sizes);
    emit(w, seen_as(DType::kF32, sizes, {1, 0, 2, 3}),
         seen_as(DType::kF32, sizes, {0, 2, 1, 3}, {1, 1, 0, 0}), kDecay);
    emit(w, seen_as(DType::kF32, sizes, {0, 2, 1, 3}, {1, 1, 0, 0}),
         seen_as(DType::kF32, sizes, {1, 0, 2, 3}), kDecay);
    emit(w, w, w, {});
    emit(w, w, w, {.beta1 = 0, .beta2 = 0.5F, .eps = 0.1F});
  }
}

void out_prod_cases(const Op&, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& a, const CaseSource& b) {
    emit_case(sink, Params::of(NoParams{}), {a, b}, kSumError);
  };
  constexpr DType kF32 = DType::kF32;
  struct Size {
    std::int64_t m, n, k;
  };
  constexpr std::array kSizes = {Size{64, 5, 3},   Size{32, 1, 1},   Size{64, 17, 40},
                                 Size{1056, 3, 2}, Size{64, 4, 0},   Size{0, 4, 3},
                                 Size{96, 0, 3},   Size{288, 13, 70}};
  for (DType type : kWeightTypes) {
    const std::int64_t row = round_up(32, trait(type).block_elements);
    for (const Size& z : kSizes) {
      const std::int64_t m = round_up(z.m, trait(type).block_elements);
      emit(source_of(type, {m, z.k, 1, 1}), source_of(kF32, {z.n, z.k, 1, 1}));
    }
    const CaseSource b = source_of(kF32, {9, 6, 4, 3});
    emit(source_of(type, {row, 6, 2, 1}), b);
    emit(source_of(type, {row, 6, 1, 3}), b);
    emit(seen_as(type, {row, 6, 2, 3}, {0, 2, 1, 3}), b);
    emit(seen_as(type, {2 * row, 6, 2, 3}, {0, 1, 2, 3}, {row, 1, 0, 1}), b);
    emit(source_of(type, {row, 6, 4, 3}), seen_as(kF32, {9, 6, 4, 3}, {1, 0, 2, 3}));
    emit(source_of(type, {row, 6, 4, 3}), seen_as(kF32, {9, 6, 4, 3}, {0, 2, 1, 3}, {1, 0, 2, 0}));
  }
  for (DType type : kFloatTypes) {
    emit(source_of(type, {7, 3, 1, 1}), source_of(kF32, {5, 3, 1, 1}));
    emit(seen_as(type, {33, 4, 1, 1}, {1, 0, 2, 3}), source_of(kF32, {5, 4, 1, 1}));
    emit(source_of(type, {70, 600, 1, 1}), source_of(kF32, {50, 600, 1, 1}));
    emit(source_of(type, {70, 600, 1, 1}), seen_as(kF32, {50, 600, 1, 1}, {1, 0, 2, 3}));
  }
}

void repeat_back_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& dy, const Sizes& sizes) {
    const Params params = Params::of(RepeatBackParams{{sizes[0], sizes[1], sizes[2], sizes[3]}});
    emit_case(sink, params, {dy}, kSumError, op.describe(params));
  };
  for (const CaseSource& dy : unary_sources(DType::kF32)) {
    const Sizes sizes = sizes_of(dy);
    emit(dy, sizes);
    const Sizes bias = {sizes[0], 1, 1, 1};
    if (sizes[0] != 0 && sizes != bias) emit(dy, bias);
  }
  const CaseSource dy = source_of(DType::kF32, {36, 4, 6, 2});
  for (const Sizes& sizes : {Sizes{1, 1, 1, 1}, Sizes{12, 4, 6, 2}, Sizes{1, 4, 1, 1},
                             Sizes{36, 2, 3, 1}, Sizes{4, 1, 2, 2}, Sizes{1, 2, 6, 1}}) {
    emit(dy, sizes);
    emit(seen_as(DType::kF32, {36, 4, 6, 2}, {1, 0, 2, 3}), sizes);
  }
  emit(source_of(DType::kF32, {1000, 40, 1, 1}), {500, 1, 1, 1});
  emit(source_of(DType::kF32, {0, 4, 1, 1}), {1, 4, 1, 1});
  // Many terms of each element, which F32 can't add to the first ones.
  std::vector<double> values(std::size_t{257} * 1024, 1);
  std::fill_n(values.begin(), 257, 0x1p24);
  emit(with_values(source_of(DType::kF32, {1, 257, 1024, 1}), values), {1, 257, 1, 1});
}

}  // namespace

CaseList training_cases_list() {
  static constexpr OpCases kCases[] = {
      {count_equal_op, count_equal_cases},       {get_rows_back_op, get_rows_back_cases},
      {opt_step_adamw_op, opt_step_adamw_cases}, {out_prod_op, out_prod_cases},
      {repeat_back_op, repeat_back_cases},
  };
  return kCases;
}

}  // namespace shunt
