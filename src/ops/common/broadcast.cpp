#include "ops/common/broadcast.h"

#include "ops/common/cases.h"
#include "ops/common/checks.h"

namespace shunt {

Result<Inferred> infer_broadcast(SourceTensors sources) {
  const Tensor& a = *sources[0];
  const Tensor& b = *sources[1];
  SHUNT_TRY(expect_float_type("a", a));
  SHUNT_TRY(expect_float_type("b", b));
  SHUNT_TRY(expect_broadcast("b", b, "a", a));
  return contiguous(a.dtype, a.shape);
}

namespace {

/// a of one type, b of the same or another; `every` shape of a, or only those that say how b is
/// repeated and how both lie.
void cases_of(const CaseSink& sink, DType ta, DType tb, bool every) {
  const auto emit = [&](const CaseSource& a, const CaseSource& b) {
    const std::vector<CaseSource> sources = {a, b};
    sink({.name = describe_sources(sources),
          .params = Params::of(NoParams{}),
          .sources = sources,
          .max_error = float_error(ta, kElementError)});
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

}  // namespace

void broadcast_cases(const CaseSink& sink) {
  for (DType ta : kFloatTypes) {
    for (DType tb : kFloatTypes) cases_of(sink, ta, tb, tb == ta || tb == DType::kF32);
  }
}

}  // namespace shunt
