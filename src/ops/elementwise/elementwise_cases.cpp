#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/elementwise/elementwise.h"

namespace shunt {

namespace {

void add1_cases(const Op&, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& a, const CaseSource& s) {
    emit_case(sink, Params::of(NoParams{}), {a, s}, float_error(a.dtype, kElementError));
  };
  for (DType type : kFloatTypes) {
    for (const CaseSource& a : unary_sources(type)) emit(a, source_of(type, {1, 1, 1, 1}));
    for (DType of_s : kFloatTypes) {
      emit(source_of(type, {5000, 3, 1, 1}), source_of(of_s, {1, 1, 1, 1}));
    }
    emit(source_of(type, {33, 2, 1, 1}), seen_as(type, {1, 1, 1, 1}, {1, 0, 2, 3}, {3, 2, 0, 0}));
  }
}

void add_id_cases(const Op&, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const CaseSource& b, const CaseSource& ids) {
    const auto rows = static_cast<double>(sizes_of(b)[1]);
    emit_case(sink, Params::of(NoParams{}), {x, b, filled(ids, Fill::kIndex, 0, rows)},
              float_error(x.dtype, kElementError));
  };
  constexpr DType kI32 = DType::kI32;
  for (DType type : kFloatTypes) {
    for (const Sizes& x :
         {Sizes{64, 4, 7, 1}, Sizes{1, 1, 1, 1}, Sizes{33, 2, 3, 1}, Sizes{7, 1, 40, 1},
          Sizes{5000, 2, 2, 1}, Sizes{0, 2, 3, 1}, Sizes{64, 0, 3, 1}, Sizes{64, 2, 0, 1}}) {
      const CaseSource ids = source_of(kI32, {x[1], x[2], 1, 1});
      emit(source_of(type, x), source_of(type, {x[0], 8, 1, 1}), ids);
      emit(source_of(type, x), source_of(DType::kF32, {x[0], 1, 1, 1}), ids);
      emit(source_of(type, x), source_of(type, {x[0], 8, 1, 1}),
           source_of(DType::kI64, {x[1], x[2], 1, 1}));
    }
    const Sizes sizes = {33, 4, 3, 1};
    const CaseSource x = source_of(type, sizes);
    const CaseSource b = source_of(type, {33, 5, 1, 1});
    const CaseSource ids = source_of(kI32, {4, 3, 1, 1});
    for (DType of_b : kFloatTypes) {
      if (of_b != type) emit(x, source_of(of_b, {33, 5, 1, 1}), ids);
    }
    emit(seen_as(type, sizes, {0, 2, 1, 3}), b, ids);
    emit(seen_as(type, sizes, {1, 0, 2, 3}, {1, 2, 0, 0}), b, ids);
    emit(x, seen_as(type, {33, 5, 1, 1}, {1, 0, 2, 3}), ids);
    emit(x, seen_as(type, {33, 5, 1, 1}, {0, 1, 2, 3}, {3, 1, 0, 0}), ids);
    for (DType of_ids : kIdTypes) {
      // The first four columns of a longer row, as from top_k.
      emit(x, b, seen_as(of_ids, {4, 3, 1, 1}, {0, 1, 2, 3}, {5, 0, 0, 0}));
      emit(x, b, seen_as(of_ids, {4, 3, 1, 1}, {1, 0, 2, 3}));
    }
  }
}

void scale_cases(const Op& op, const CaseSink& sink) {
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      for (const ScaleParams& params : {ScaleParams{0.125F, 0}, ScaleParams{-3, 0.5F}}) {
        emit_case(sink, Params::of(params), {x}, float_error(type, kElementError),
                  op.describe(Params::of(params)));
      }
    }
  }
  sink({.name = "by nothing",
        .params = Params::of(ScaleParams{0, 0}),
        .sources = {source_of(DType::kF32, {64, 5, 1, 1})},
        .max_error = kElementError});
}

/// a of type `ta` and b of type `tb`: every shape of a, or only those that cover broadcasting and
/// strides.
void broadcast_cases_of(const CaseSink& sink, DType ta, DType tb, bool every) {
  const auto emit = [&](const CaseSource& a, const CaseSource& b) {
    emit_case(sink, Params::of(NoParams{}), {a, b}, float_error(ta, kElementError));
  };
  for (const CaseSource& a : every ? unary_sources(ta) : std::vector<CaseSource>()) {
    emit(a, source_of(tb, sizes_of(a)));
    const Sizes bias = {sizes_of(a)[0], 1, 1, 1};
    if (sizes_of(a) != bias) emit(a, source_of(tb, bias));
  }
  struct Shapes {
    Sizes a, b;
  };
  constexpr std::array kShapes = {
      Shapes{{64, 5, 1, 1}, {1, 1, 1, 1}},    Shapes{{64, 5, 1, 1}, {1, 5, 1, 1}},
      Shapes{{64, 6, 1, 1}, {64, 3, 1, 1}},   Shapes{{64, 6, 1, 1}, {32, 2, 1, 1}},
      Shapes{{33, 4, 3, 2}, {33, 1, 3, 1}},   Shapes{{33, 4, 3, 2}, {1, 4, 1, 2}},
      Shapes{{9, 4, 6, 2}, {3, 2, 3, 1}},     Shapes{{7, 3, 2, 2}, {7, 3, 1, 1}},
      Shapes{{1, 1, 1, 8}, {1, 1, 1, 4}},     Shapes{{0, 4, 1, 1}, {1, 4, 1, 1}},
      Shapes{{300, 2, 1, 1}, {100, 1, 1, 1}}, Shapes{{9000, 2, 1, 1}, {3000, 1, 1, 1}},
  };
  for (const Shapes& shapes : kShapes) emit(source_of(ta, shapes.a), source_of(tb, shapes.b));
  emit(source_of(ta, {16, 4, 3, 2}), seen_as(tb, {16, 4, 3, 2}, {0, 2, 1, 3}));
  emit(source_of(ta, {16, 4, 3, 2}), seen_as(tb, {16, 4, 1, 1}, {1, 0, 2, 3}));
  emit(seen_as(ta, {16, 4, 3, 2}, {1, 0, 2, 3}), seen_as(tb, {16, 2, 3, 1}, {2, 1, 0, 3}));
  emit(source_of(ta, {16, 4, 1, 1}), seen_as(tb, {16, 1, 1, 1}, {0, 1, 2, 3}, {3, 1, 0, 0}));
  emit(seen_as(ta, {5, 7, 2, 1}, {0, 1, 2, 3}, {1, 2, 0, 0}), source_of(tb, {5, 7, 1, 1}));
}

void broadcast_cases(const Op&, const CaseSink& sink) {
  for (DType ta : kFloatTypes) {
    for (DType tb : kFloatTypes) broadcast_cases_of(sink, ta, tb, tb == ta || tb == DType::kF32);
  }
}

}  // namespace

CaseList elementwise_cases_list() {
  static constexpr OpCases kCases[] = {
      {add1_op, add1_cases},     {add_id_op, add_id_cases}, {scale_op, scale_cases},
      {add_op, broadcast_cases}, {sub_op, broadcast_cases}, {mul_op, broadcast_cases},
      {div_op, broadcast_cases},
  };
  return kCases;
}

}  // namespace shunt
