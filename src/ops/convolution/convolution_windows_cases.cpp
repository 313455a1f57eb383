#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/case_windows.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/convolution/convolution.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

void col2im_1d_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const Col2im1dParams& params) {
    emit_case(sink, Params::of(params), {x}, kSumError, op.describe(Params::of(params)));
  };
  for (const DType type : kFloatTypes) {
    const auto of = [&](const Sizes& sizes) { return source_of(type, sizes); };
    emit(of({1, 1, 1, 1}), {});
    emit(of({3, 1, 1, 1}), {.kernel = 3});
    emit(of({12, 7, 2, 1}), {.kernel = 4});
    emit(of({12, 7, 2, 1}), {.kernel = 1, .stride = 3});
    emit(of({12, 8, 1, 1}), {.kernel = 4, .stride = 2, .pad = 1});
    emit(of({32, 11, 1, 1}), {.kernel = 16, .stride = 8, .pad = 4});
    emit(of({6, 5, 1, 1}), {.kernel = 3, .stride = 2, .pad = 3, .dilation = 4});
    emit(of({4, 6, 3, 1}), {.kernel = 2, .stride = 5});
    emit(of({600, 4, 1, 1}), {.kernel = 600, .stride = 7, .pad = 5});
    emit(of({10, 1800, 1, 1}), {.kernel = 5, .stride = 3, .pad = 2});
    emit(of({0, 5, 1, 1}), {.kernel = 3});
    emit(of({6, 5, 0, 1}), {.kernel = 3});
    emit(seen_as(type, {12, 7, 2, 1}, {1, 0, 2, 3}), {.kernel = 4, .stride = 2});
    emit(seen_as(type, {12, 7, 2, 1}, {0, 2, 1, 3}), {.kernel = 4, .stride = 2});
    emit(seen_as(type, {12, 7, 2, 1}, {0, 1, 2, 3}, {4, 1, 1, 0}), {.kernel = 4, .stride = 3});
  }
}

void im2col_cases(const Op& op, const CaseSink& sink) {
  for (const DType type : kFloatTypes) {
    const auto emit = [&](const CaseSource& x, const Window& window) {
      const Params params =
          Params::of(Im2colParams{window.kernel, window.stride, window.pad, window.dilation, type});
      emit_case(sink, params, {x},
                type == DType::kF32 || type == x.dtype ? 0 : rounding_error(type),
                op.describe(params));
    };
    for (const DType of_x : kFloatTypes) window_cases(emit, of_x);
    emit(source_of(DType::kF32, {9, 8, 0, 2}), {.kernel = {2, 2}});
    emit(source_of(DType::kF32, {5, 4, 600, 1}), {.kernel = {3, 3}, .pad = {1, 1}});
    emit(source_of(DType::kF32, {5, 4, 2, 1}), {.kernel = {9, 9}, .pad = {4, 4}});
  }
}

void im2col_3d_cases(const Op& op, const CaseSink& sink) {
  for (const DType type : kFloatTypes) {
    const auto emit = [&](const CaseSource& x, std::int64_t channels, const WindowOf<3>& window) {
      const Params params = Params::of(Im2col3dParams{channels, window.kernel, window.stride,
                                                      window.pad, window.dilation, type});
      emit_case(sink, params, {x},
                type == DType::kF32 || type == x.dtype ? 0 : rounding_error(type),
                op.describe(params));
    };
    for (const DType of_x : kFloatTypes) window_3d_cases(emit, of_x);
  }
}

void pool_1d_cases(const Op& op, const CaseSink& sink) {
  struct Size {
    CaseSource x;
    std::int64_t kernel, stride, pad;
  };
  for (const DType type : kFloatTypes) {
    const std::array kSizes = {
        Size{source_of(type, {1, 1, 1, 1}), 1, 1, 0},
        Size{source_of(type, {9, 4, 3, 2}), 3, 1, 0},
        Size{source_of(type, {9, 4, 3, 2}), 3, 2, 2},
        Size{source_of(type, {10, 3, 1, 1}), 2, 2, 0},
        Size{source_of(type, {10, 3, 1, 1}), 2, 5, 1},
        Size{source_of(type, {333, 2, 1, 1}), 7, 1, 3},
        Size{source_of(type, {5, 700, 1, 1}), 5, 1, 4},
        Size{source_of(type, {6, 0, 2, 1}), 2, 1, 0},
        Size{filled(source_of(type, {20, 9, 2, 1}), Fill::kUniform, -9, -1), 5, 3, 4},
        Size{seen_as(type, {8, 6, 3, 2}, {1, 0, 2, 3}), 3, 2, 1},
        Size{seen_as(type, {8, 6, 3, 2}, {2, 3, 0, 1}), 3, 2, 1},
        Size{seen_as(type, {8, 6, 3, 2}, {0, 1, 2, 3}, {2, 1, 1, 1}), 3, 2, 1},
    };
    for (const Size& size : kSizes) {
      for (const Pooling pooling : {Pooling::kMax, Pooling::kAverage}) {
        const Params params = Params::of(Pool1dParams{pooling, size.kernel, size.stride, size.pad});
        emit_case(sink, params, {size.x},
                  pooling == Pooling::kMax ? 0 : float_error(type, kSumError), op.describe(params));
      }
    }
  }
}

void pool_2d_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const Window& window) {
    if (window.pad[0] >= window.kernel[0] || window.pad[1] >= window.kernel[1]) return;
    if (window.dilation != Pair{1, 1}) return;
    for (const Pooling pooling : {Pooling::kMax, Pooling::kAverage}) {
      const Params params =
          Params::of(Pool2dParams{pooling, window.kernel, window.stride, window.pad});
      emit_case(sink, params, {x}, pooling == Pooling::kMax ? 0 : float_error(x.dtype, kSumError),
                op.describe(params));
    }
  };
  for (const DType type : kFloatTypes) {
    window_cases(emit, type);
    emit(source_of(type, {9, 8, 0, 2}), {.kernel = {2, 2}});
    emit(source_of(type, {7, 7, 30, 2}), {.kernel = {7, 7}});
    emit(filled(source_of(type, {20, 9, 2, 1}), Fill::kUniform, -9, -1),
         {.kernel = {4, 5}, .stride = {3, 3}, .pad = {3, 4}});
  }
}

void im2col_back_cases(const Op& op, const CaseSink& sink) {
  // The gradients of im2col's cases, with strides of their own.
  window_cases([&](const CaseSource& x, const Window& window) {
    const Im2colBackParams params = {
        {window.kernel, window.stride, window.pad, window.dilation, DType::kF32},
        {sizes_of(x)[0], sizes_of(x)[1]}};
    const auto seen = tensor_of(x);
    const auto count = seen ? positions(window, seen->tensor) : Result<Pair>(Pair{});
    if (!count) return;
    const Sizes sizes = {window.kernel[0] * window.kernel[1] * sizes_of(x)[2], (*count)[0],
                         (*count)[1], sizes_of(x)[3]};
    const bool plain = x.permute == std::array<int, kMaxDims>{0, 1, 2, 3};
    const CaseSource dy = plain ? seen_as(DType::kF32, sizes, x.permute, x.slice)
                                : seen_as(DType::kF32, sizes, x.permute);
    emit_case(sink, Params::of(params), {dy}, kSumError, op.describe(Params::of(params)));
  });
  const auto emit = [&](const Sizes& sizes, const Im2colBackParams& params) {
    const CaseSource dy = source_of(DType::kF32, sizes);
    emit_case(sink, Params::of(params), {dy}, kSumError, op.describe(Params::of(params)));
  };
  emit({162, 5, 4, 1}, {{.kernel = {9, 9}, .pad = {4, 4}}, {5, 4}});
  emit({0, 8, 7, 2}, {{.kernel = {2, 2}}, {9, 8}});
  emit({27, 30, 30, 2}, {{.kernel = {3, 3}, .pad = {1, 1}}, {30, 30}});
}

}  // namespace

CaseList convolution_windows_cases_list() {
  static constexpr OpCases kCases[] = {
      {col2im_1d_op, col2im_1d_cases}, {im2col_op, im2col_cases},
      {im2col_3d_op, im2col_3d_cases}, {pool_1d_op, pool_1d_cases},
      {pool_2d_op, pool_2d_cases},     {im2col_back_op, im2col_back_cases},
  };
  return kCases;
}

}  // namespace shunt
