#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/case_windows.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/convolution/convolution.h"

namespace shunt {

namespace {

using EmitPlane =
    std::function<void(const CaseSource& w, const CaseSource& x, const Window& window)>;

/// Gives the sink a case with Conv2dParams. The window's kernel is that of w.
EmitPlane emit_plane(const Op& op, const CaseSink& sink) {
  return [&](const CaseSource& w, const CaseSource& x, const Window& window) {
    const Params params = Params::of(Conv2dParams{window.stride, window.pad, window.dilation});
    emit_case(sink, params, {w, x}, kSumError, op.describe(params));
  };
}

/// Images of each 16-bit type, with weights of F32 and of that type. The sizes of the weights are
/// sizes_of_w(x, window).
template <class SizesOfWeights>
void cases_of_16_bit_images(const EmitPlane& emit, SizesOfWeights sizes_of_w) {
  for (const DType type : {DType::kF16, DType::kBF16}) {
    window_cases(
        [&](const CaseSource& x, const Window& window) {
          const Sizes w = sizes_of_w(x, window);
          emit(source_of(DType::kF32, w), x, window);
          emit(source_of(type, w), x, window);
        },
        type);
  }
}

void conv_2d_cases(const Op& op, const CaseSink& sink) {
  const EmitPlane emit = emit_plane(op, sink);
  cases_of_16_bit_images(emit, [](const CaseSource& x, const Window& window) -> Sizes {
    return {window.kernel[0], window.kernel[1], sizes_of(x)[2], 5};
  });
  for (const DType type : kFloatTypes) {
    window_cases([&](const CaseSource& x, const Window& window) {
      const auto weights = [&](std::int64_t outputs) {
        return source_of(type, {window.kernel[0], window.kernel[1], sizes_of(x)[2], outputs});
      };
      emit(weights(5), x, window);
      emit(weights(1), x, window);
    });
    const CaseSource x = source_of(DType::kF32, {9, 8, 3, 2});
    const Window window = {.kernel = {3, 3}, .pad = {1, 1}};
    // Channels innermost, and a slice of the kernels.
    emit(seen_as(type, {3, 3, 3, 7}, {1, 2, 0, 3}), x, window);
    emit(seen_as(type, {3, 3, 3, 7}, {0, 1, 2, 3}, {0, 1, 1, 2}), x, window);
    emit(source_of(type, {3, 3, 3, 0}), x, window);
    emit(source_of(type, {3, 3, 0, 4}), source_of(DType::kF32, {9, 8, 0, 2}), window);
    // More positions, outputs and depth than one tile.
    emit(source_of(type, {3, 3, 60, 210}), source_of(DType::kF32, {7, 7, 60, 1}), window);
  }
}

void conv_2d_dw_cases(const Op& op, const CaseSink& sink) {
  const EmitPlane emit = emit_plane(op, sink);
  cases_of_16_bit_images(emit, [](const CaseSource& x, const Window& window) -> Sizes {
    return {window.kernel[0], window.kernel[1], 1, sizes_of(x)[2]};
  });
  for (const DType type : kFloatTypes) {
    window_cases([&](const CaseSource& x, const Window& window) {
      emit(source_of(type, {window.kernel[0], window.kernel[1], 1, sizes_of(x)[2]}), x, window);
    });
    const CaseSource x = source_of(DType::kF32, {9, 8, 4, 2});
    const Window window = {.kernel = {3, 2}, .pad = {1, 1}};
    emit(seen_as(type, {3, 2, 1, 4}, {1, 0, 2, 3}), x, window);
    emit(seen_as(type, {3, 2, 1, 4}, {0, 1, 2, 3}, {1, 1, 0, 2}), x, window);
    emit(source_of(type, {3, 2, 1, 0}), source_of(DType::kF32, {9, 8, 0, 2}), window);
    emit(source_of(type, {5, 5, 1, 2}), source_of(DType::kF32, {300, 6, 2, 1}),
         {.kernel = {5, 5}, .pad = {2, 2}});
  }
}

void conv_3d_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& w, const CaseSource& x, std::int64_t channels,
                        const WindowOf<3>& window) {
    const Params params =
        Params::of(Conv3dParams{channels, window.stride, window.pad, window.dilation});
    emit_case(sink, params, {w, x}, kSumError, op.describe(params));
  };
  for (const DType type : {DType::kF16, DType::kBF16}) {  // of x
    window_3d_cases(
        [&](const CaseSource& x, std::int64_t channels, const WindowOf<3>& window) {
          const auto& [width, height, depth] = window.kernel;
          const Sizes w = {width, height, depth, channels * 5};
          emit(source_of(DType::kF32, w), x, channels, window);
          emit(source_of(type, w), x, channels, window);
        },
        type);
  }
  for (const DType type : kFloatTypes) {
    window_3d_cases([&](const CaseSource& x, std::int64_t channels, const WindowOf<3>& window) {
      const auto& [width, height, depth] = window.kernel;
      emit(source_of(type, {width, height, depth, channels}), x, channels, window);
      emit(source_of(type, {width, height, depth, channels * 5}), x, channels, window);
    });
    const CaseSource x = source_of(DType::kF32, {6, 5, 4, 6});
    const WindowOf<3> window = {.kernel = {3, 3, 2}, .pad = {1, 1, 1}};
    // Channels innermost, and a slice of the kernels.
    emit(seen_as(type, {3, 3, 2, 12}, {1, 2, 3, 0}), x, 3, window);
    emit(seen_as(type, {3, 3, 2, 12}, {0, 1, 2, 3}, {0, 1, 1, 3}), x, 3, window);
    emit(seen_as(type, {3, 3, 2, 12}, {0, 2, 1, 3}), x, 2, window);
    emit(source_of(type, {3, 3, 2, 0}), x, 3, window);
    // More positions, outputs and depth than one tile.
    emit(source_of(type, {3, 3, 3, 20 * 200}), source_of(DType::kF32, {4, 4, 3, 20}), 20,
         {.kernel = {3, 3, 3}, .pad = {1, 1, 1}});
  }
}

void conv_transpose_1d_cases(const Op& op, const CaseSink& sink) {
  struct Size {
    std::int64_t kernel, outputs, channels, length, images;
    Conv1dParams params;
  };
  constexpr std::array kSizes = {
      Size{1, 1, 1, 1, 1, {}},        Size{3, 2, 4, 1, 1, {}},        Size{4, 5, 3, 7, 2, {}},
      Size{3, 1, 2, 9, 1, {1, 1, 1}}, Size{4, 3, 2, 8, 1, {2, 1, 1}}, Size{16, 2, 3, 11, 1, {8, 4}},
      Size{2, 2, 2, 6, 3, {5, 0, 1}}, Size{3, 2, 2, 5, 1, {2, 3, 4}}, Size{5, 1, 1, 40, 1, {1, 2}},
      Size{3, 0, 2, 5, 1, {}},        Size{3, 2, 0, 5, 1, {}},        Size{3, 2, 2, 5, 0, {}},
      Size{7, 2, 5, 900, 1, {5, 2}},  Size{7, 1, 40, 33, 1, {3, 0}},
  };
  const auto emit = [&](const CaseSource& w, const CaseSource& x, const Conv1dParams& params) {
    emit_case(sink, Params::of(params), {w, x}, kSumError, op.describe(Params::of(params)));
  };
  constexpr DType kF32 = DType::kF32;
  for (const DType type : kFloatTypes) {
    for (const Size& s : kSizes) {
      emit(source_of(type, {s.kernel, s.outputs, s.channels, 1}),
           source_of(kF32, {s.length, s.channels, s.images, 1}), s.params);
      if (type == kF32) continue;
      for (const DType of_w : {kF32, type}) {
        emit(source_of(of_w, {s.kernel, s.outputs, s.channels, 1}),
             source_of(type, {s.length, s.channels, s.images, 1}), s.params);
      }
    }
    const CaseSource w = source_of(type, {4, 5, 3, 1});
    const Conv1dParams params = {2, 1, 1};
    emit(w, seen_as(kF32, {9, 3, 2, 1}, {1, 0, 2, 3}), params);
    if (type != kF32) emit(w, seen_as(type, {9, 3, 2, 1}, {1, 0, 2, 3}, {1, 2, 1, 0}), params);
    emit(w, seen_as(kF32, {9, 3, 2, 1}, {2, 1, 0, 3}, {1, 2, 0, 0}), params);
    emit(seen_as(type, {4, 5, 3, 1}, {2, 0, 1, 3}), source_of(kF32, {9, 3, 2, 1}), params);
    emit(seen_as(type, {4, 5, 3, 1}, {0, 1, 2, 3}, {2, 1, 1, 0}), source_of(kF32, {9, 3, 2, 1}),
         params);
  }
}

void conv_transpose_2d_cases(const Op& op, const CaseSink& sink) {
  const EmitPlane emit = emit_plane(op, sink);
  cases_of_16_bit_images(emit, [](const CaseSource& x, const Window& window) -> Sizes {
    return {window.kernel[0], window.kernel[1], 3, sizes_of(x)[2]};
  });
  for (const DType type : kFloatTypes) {
    // The images of window_cases() are taken as the positions.
    window_cases([&](const CaseSource& x, const Window& window) {
      const auto weights = [&](std::int64_t outputs) {
        return source_of(type, {window.kernel[0], window.kernel[1], outputs, sizes_of(x)[2]});
      };
      emit(weights(3), x, window);
      emit(weights(1), x, window);
    });
    const CaseSource x = source_of(DType::kF32, {5, 4, 3, 2});
    const Window window = {.stride = {2, 3}, .pad = {1, 2}, .dilation = {1, 2}};
    emit(seen_as(type, {3, 2, 6, 3}, {2, 3, 0, 1}), x, window);
    emit(seen_as(type, {3, 2, 6, 3}, {0, 1, 2, 3}, {2, 1, 1, 2}), x, window);
    emit(source_of(type, {3, 2, 0, 3}), x, window);
    emit(source_of(type, {3, 2, 4, 0}), source_of(DType::kF32, {5, 4, 0, 2}), window);
    // Gaps between windows, and rows longer than one item of work.
    emit(source_of(type, {2, 2, 2, 3}), x, {.stride = {4, 5}});
    emit(source_of(type, {9, 1, 2, 3}), source_of(DType::kF32, {700, 2, 3, 1}),
         {.stride = {7, 1}, .pad = {3, 0}, .dilation = {2, 1}});
  }
}

}  // namespace

CaseList convolution_cases_list() {
  static constexpr OpCases kCases[] = {
      {conv_2d_op, conv_2d_cases},
      {conv_2d_dw_op, conv_2d_dw_cases},
      {conv_3d_op, conv_3d_cases},
      {conv_transpose_1d_op, conv_transpose_1d_cases},
      {conv_transpose_2d_op, conv_transpose_2d_cases},
  };
  return kCases;
}

}  // namespace shunt
