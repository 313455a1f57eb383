#include <algorithm>

#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/data/data.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

void arange_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](double start, double stop, double step) {
    const Params params = Params::of(ArangeParams{start, stop, step});
    sink(
        {.name = op.describe(params), .params = params, .sources = {}, .max_error = kElementError});
  };
  for (const std::int64_t n : {0, 1, 2, 7, 64, 333, 4096, 4097, 100000}) {
    emit(0, static_cast<double>(n), 1);
    emit(-5, -5 + static_cast<double>(n) * 0.25, 0.25);
  }
  emit(3, 2, 1);
  emit(2, 3, -1);
  emit(10, -10, -3);
  emit(0, 7, 0.7);
  emit(1e-3, 1, 1e-3);
  emit(1e30, 3e30, 1e29);
  emit(1, 2, 1e300);
}

void diag_cases(const Op&, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x) { emit_case(sink, Params::of(NoParams{}), {x}, 0); };
  for (DType type : kPlainTypes) {
    for (const std::int64_t n : {0, 1, 5, 67}) emit(source_of(type, {n, 1, 3, 2}));
    emit(seen_as(type, {9, 1, 4, 2}, {2, 3, 1, 0}));
    emit(seen_as(type, {9, 1, 4, 1}, {1, 0, 2, 3}, {3, 0, 1, 0}));
  }
  emit(source_of(DType::kF32, {300, 1, 1, 1}));
}

void diag_mask_inf_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, std::int64_t n_past) {
    const Params params = Params::of(DiagMaskInfParams{n_past});
    emit_case(sink, params, {x}, 0, op.describe(params));
  };
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      for (const std::int64_t n_past : {0, 3, 40}) emit(x, n_past);
    }
  }
  emit(source_of(DType::kF32, {9, 9, 2, 1}), kMaxSize);
  emit(source_of(DType::kF32, {4200, 20, 1, 1}), 4090);
}

void fill_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const Shape& shape, float value, DType type) {
    const Params params = Params::of(FillParams{shape, value, type});
    sink({.name = op.describe(params), .params = params, .sources = {}, .max_error = 0});
  };
  for (DType type : kPlainTypes) {
    emit({1}, 2.5F, type);
    emit({7, 3, 2, 5}, -3, type);
    emit({0, 3}, 1, type);
    emit({4, 0, 2}, 1, type);
    emit({9001, 2}, 100, type);
  }
  emit({5, 5}, 3e38F, DType::kI32);
  emit({5, 5}, -3e38F, DType::kI64);
}

void pad_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const PadParams& p) {
    const Params params = Params::of(p);
    emit_case(sink, params, {x}, 0, op.describe(params));
  };
  for (const Padding padding : {Padding::kConstant, Padding::kCircular}) {
    for (const CaseSource& x : unary_sources(DType::kF32)) {
      const Sizes sizes = sizes_of(x);
      const bool empty = sizes[0] * sizes[1] * sizes[2] * sizes[3] == 0;
      if (empty && padding == Padding::kCircular) continue;
      emit(x, {{3, 0, 1, 0}, {0, 2, 0, 1}, padding, 0});
    }
    for (DType type : kPlainTypes) {
      const CaseSource x = source_of(type, {7, 3, 2, 2});
      emit(x, {{0, 0, 0, 0}, {0, 0, 0, 0}, padding, 0});
      emit(x, {{1, 2, 1, 1}, {5, 0, 1, 3}, padding, -2.5F});
      emit(x, {{100, 0, 0, 0}, {33, 0, 0, 0}, padding, 7});
      emit(seen_as(type, {9, 4, 2, 1}, {1, 0, 2, 3}, {1, 0, 0, 0}),
           {{0, 3, 0, 2}, {4, 0, 0, 0}, padding, 1});
    }
    emit(source_of(DType::kF32, {5000, 2, 1, 1}), {{4000, 1, 0, 0}, {9, 0, 0, 0}, padding, 1});
    emit(source_of(DType::kF16, {1, 1, 1, 1}), {{3, 1, 1, 1}, {9, 0, 2, 0}, padding, 1});
  }
  emit(source_of(DType::kF32, {0, 2, 1, 1}), {{2, 1, 0, 0}, {1, 0, 0, 0}, Padding::kConstant, 3});
  for (const DTypeTrait& type : dtypes()) {
    if (!type.quantized) continue;
    const std::int64_t block = type.block_elements;
    emit(source_of(type.dtype, {2 * block, 3, 2, 1}),
         {{block, 1, 0, 2}, {4 * block, 0, 3, 0}, Padding::kCircular, 0});
  }
}

void pad_reflect_1d_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, std::int64_t before, std::int64_t after) {
    const Params params = Params::of(PadReflectParams{before, after});
    emit_case(sink, params, {x}, 0, op.describe(params));
  };
  for (const CaseSource& x : unary_sources(DType::kF32)) {
    const std::int64_t n = sizes_of(x)[0];
    const std::int64_t most = std::max<std::int64_t>(n - 1, 0);
    emit(x, most, most / 2);
    if (most > 0) emit(x, 0, most);
  }
  for (DType type : kPlainTypes) {
    emit(source_of(type, {9, 2, 3, 2}), 3, 8);
    emit(source_of(type, {2, 2, 1, 1}), 1, 1);
    emit(seen_as(type, {9, 4, 2, 1}, {1, 0, 2, 3}, {2, 0, 0, 0}), 5, 0);
  }
  emit(source_of(DType::kF32, {5000, 2, 1, 1}), 4500, 4999);
}

void timestep_embedding_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& t, std::int64_t dim, float max_period) {
    const Params params = Params::of(TimestepEmbeddingParams{dim, max_period});
    emit_case(sink, params, {t}, kElementError, op.describe(params));
  };
  for (DType type : {DType::kF32, DType::kI32}) {
    const auto steps = [&](const CaseSource& t) {
      return filled(t, type == DType::kF32 ? Fill::kUniform : Fill::kIndex, 0, 1000);
    };
    for (const std::int64_t dim : {1, 2, 3, 6, 15, 320}) {
      for (const float max_period : {10000.0F, 7.5F}) {
        emit(steps(source_of(type, {3, 1, 1, 1})), dim, max_period);
      }
    }
    emit(steps(source_of(type, {0, 1, 1, 1})), 8, 10000);
    emit(steps(source_of(type, {1, 1, 1, 1})), 9000, 10000);
    emit(steps(seen_as(type, {5, 1, 1, 1}, {1, 0, 2, 3}, {2, 0, 0, 0})), 8, 10000);
  }
}

void tri_cases(const Op& op, const CaseSink& sink) {
  for (const Triangle triangle : {Triangle::kLower, Triangle::kUpper}) {
    for (const bool diagonal : {true, false}) {
      const Params params = Params::of(TriParams{triangle, diagonal});
      const auto emit = [&](const CaseSource& x) {
        emit_case(sink, params, {x}, 0, op.describe(params));
      };
      for (const CaseSource& x : unary_sources(DType::kF32)) emit(x);
      for (DType type : kPlainTypes) {
        emit(source_of(type, {9, 9, 2, 3}));
        emit(seen_as(type, {12, 7, 2, 1}, {1, 0, 2, 3}));
      }
      emit(source_of(DType::kF16, {3, 70, 1, 1}));
      emit(source_of(DType::kF32, {4100, 3, 1, 1}));
    }
  }
}

void upscale_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, std::int64_t width, std::int64_t height) {
    for (const Interpolation how :
         {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kBicubic}) {
      for (const bool align : {false, true}) {
        for (const bool antialias : {false, true}) {
          if (how == Interpolation::kNearest && (align || antialias)) continue;
          const Params params = Params::of(UpscaleParams{width, height, how, align, antialias});
          emit_case(sink, params, {x},
                    how == Interpolation::kNearest ? 0 : float_error(x.dtype, kElementError),
                    op.describe(params));
        }
      }
    }
  };
  for (const DType type : kFloatTypes) {
    emit(source_of(type, {7, 5, 3, 2}), 14, 10);
    emit(source_of(type, {7, 5, 3, 2}), 7, 5);
    emit(source_of(type, {7, 5, 1, 1}), 17, 3);
    emit(source_of(type, {14, 10, 2, 1}), 7, 5);
    emit(source_of(type, {31, 29, 2, 1}), 4, 3);
    emit(source_of(type, {1, 1, 2, 1}), 5, 4);
    emit(source_of(type, {9, 8, 1, 2}), 1, 1);
    emit(source_of(type, {2, 50, 1, 1}), 3, 49);
    emit(source_of(type, {1, 49, 1, 1}), 2, 98);
    emit(source_of(type, {3000, 2, 1, 1}), 7, 3);
    emit(source_of(type, {5, 3, 1, 1}), 2000, 2);
    emit(source_of(type, {5, 4, 0, 2}), 10, 8);
    emit(seen_as(type, {6, 5, 3, 2}, {1, 0, 2, 3}), 9, 11);
    emit(seen_as(type, {6, 5, 3, 2}, {2, 3, 0, 1}, {1, 2, 0, 1}), 11, 4);
  }
}

}  // namespace

CaseList data_cases_list() {
  static constexpr OpCases kCases[] = {
      {arange_op, arange_cases},
      {diag_op, diag_cases},
      {diag_mask_inf_op, diag_mask_inf_cases},
      {fill_op, fill_cases},
      {pad_op, pad_cases},
      {pad_reflect_1d_op, pad_reflect_1d_cases},
      {timestep_embedding_op, timestep_embedding_cases},
      {tri_op, tri_cases},
      {upscale_op, upscale_cases},
  };
  return kCases;
}

}  // namespace shunt
