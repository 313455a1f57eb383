#include <algorithm>

#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/matrix/matrix.h"

namespace shunt {

namespace {

void emit_matmul(const CaseSink& sink, const CaseSource& w, const CaseSource& x) {
  const std::vector<CaseSource> sources = {w, x};
  const Sizes of_w = sizes_of(w);
  const Sizes of_x = sizes_of(x);
  const std::int64_t sums =
      of_w[1] * of_x[1] * std::max(of_w[2], of_x[2]) * std::max(of_w[3], of_x[3]);
  emit_case(sink, Params::of(NoParams{}), sources, product_error(w.dtype, sums));
}

/// Contiguous matrices: row lengths around the widths of vectors and blocks, few and many columns.
void matmul_size_cases(const CaseSink& sink, DType type) {
  struct Size {
    std::int64_t k, m, n;
  };
  constexpr std::array kPlain = {
      Size{1, 1, 1},  Size{7, 3, 2},  Size{31, 4, 3},  Size{33, 5, 1},  Size{33, 16, 5},
      Size{63, 2, 2}, Size{65, 9, 4}, Size{100, 7, 9}, Size{129, 3, 1},
  };
  constexpr std::array kBlocks = {
      Size{32, 1, 1},   Size{32, 5, 3},   Size{64, 1, 7},   Size{64, 16, 1},
      Size{64, 33, 2},  Size{96, 7, 5},   Size{128, 4, 4},  Size{256, 8, 1},
      Size{256, 3, 17}, Size{64, 31, 33}, Size{512, 64, 1}, Size{160, 17, 8},
      Size{64, 0, 2},   Size{64, 3, 0},   Size{0, 3, 2},    Size{0, 5, 20},
  };
  const auto emit_size = [&](const Size& size) {
    const std::int64_t k = round_up(size.k, trait(type).block_elements);
    emit_matmul(sink, source_of(type, {k, size.m, 1, 1}),
                source_of(DType::kF32, {k, size.n, 1, 1}));
  };
  // Larger than one tile of a kernel in each dimension.
  constexpr std::array kLong = {Size{1100, 37, 13}, Size{2051, 3, 14}, Size{65, 70, 61}};
  if (!trait(type).quantized) {
    for (const Size& size : kPlain) emit_size(size);
    for (const Size& size : kLong) emit_size(size);
  }
  for (const Size& size : kBlocks) emit_size(size);
}

void matmul_batch_cases(const CaseSink& sink, DType type) {
  struct Batch {
    std::int64_t w2, x2, w3, x3;
  };
  constexpr std::array kBatches = {Batch{2, 2, 1, 1}, Batch{1, 3, 1, 1}, Batch{2, 6, 1, 1},
                                   Batch{1, 1, 2, 2}, Batch{1, 2, 1, 3}, Batch{2, 4, 3, 3},
                                   Batch{2, 4, 2, 4}, Batch{4, 2, 1, 3}, Batch{6, 1, 3, 3}};
  const std::int64_t block = std::max<std::int64_t>(32, trait(type).block_elements);
  for (const Batch& b : kBatches) {
    emit_matmul(sink, source_of(type, {2 * block, 5, b.w2, b.w3}),
                source_of(DType::kF32, {2 * block, 3, b.x2, b.x3}));
    emit_matmul(sink, source_of(type, {block, 6, b.w2, b.w3}),
                source_of(DType::kF32, {block, 1, b.x2, b.x3}));
  }
  for (const Batch& b : {Batch{2, 6, 1, 3}, Batch{6, 2, 3, 1}}) {
    emit_matmul(sink, source_of(type, {block, 5, b.w2, b.w3}),
                source_of(DType::kF32, {block, 19, b.x2, b.x3}));
  }
}

void matmul_stride_cases(const CaseSink& sink, DType type) {
  constexpr DType kF32 = DType::kF32;
  const std::int64_t block = std::max<std::int64_t>(32, trait(type).block_elements);
  const std::int64_t k = 2 * block;
  const CaseSource w = source_of(type, {k, 5, 2, 1});
  const CaseSource x = source_of(kF32, {k, 3, 4, 1});
  emit_matmul(sink, seen_as(type, {k, 5, 2, 1}, {0, 2, 1, 3}), x);
  emit_matmul(sink, seen_as(type, {k, 5, 2, 1}, {0, 1, 2, 3}, {block, 1, 1, 0}), x);
  emit_matmul(sink, w, seen_as(kF32, {k, 3, 4, 1}, {0, 2, 1, 3}));
  emit_matmul(sink, w, seen_as(kF32, {k, 3, 4, 1}, {1, 0, 2, 3}));
  emit_matmul(sink, w, seen_as(kF32, {k, 3, 4, 1}, {0, 1, 2, 3}, {3, 1, 1, 0}));
  emit_matmul(sink, seen_as(type, {k, 5, 2, 1}, {0, 2, 1, 3}),
              seen_as(kF32, {k, 3, 4, 1}, {0, 2, 1, 3}, {0, 2, 0, 0}));
  emit_matmul(sink, seen_as(type, {k, 5, 2, 1}, {0, 2, 1, 3}), source_of(kF32, {k, 19, 4, 1}));
  emit_matmul(sink, w, seen_as(kF32, {k, 19, 4, 1}, {1, 0, 2, 3}));
  if (trait(type).quantized) return;
  emit_matmul(sink, seen_as(type, {64, 5, 2, 1}, {1, 0, 2, 3}), x);
  emit_matmul(sink, seen_as(type, {64, 5, 2, 1}, {1, 0, 2, 3}), source_of(kF32, {64, 19, 2, 1}));
  emit_matmul(sink, seen_as(type, {33, 5, 2, 1}, {2, 0, 1, 3}, {1, 0, 0, 0}),
              seen_as(kF32, {33, 3, 4, 1}, {2, 1, 0, 3}));
}

/// x of F16 and BF16, and zero slices on either side.
void matmul_activation_cases(const CaseSink& sink) {
  constexpr std::array kSizes = {Sizes{64, 5, 2, 1}, Sizes{33, 4, 2, 3}, Sizes{600, 14, 2, 1},
                                 Sizes{7, 1, 2, 1}, Sizes{0, 3, 2, 1}};
  for (const DType type : {DType::kF16, DType::kBF16}) {
    for (const Sizes& s : kSizes) {
      emit_matmul(sink, source_of(DType::kF32, {s[0], 7, 2, 1}), source_of(type, s));
      emit_matmul(sink, source_of(type, {s[0], 40, 1, 1}), source_of(type, s));
    }
    emit_matmul(sink, source_of(DType::kQ8_0, {64, 7, 1, 1}), source_of(type, {64, 3, 2, 1}));
    emit_matmul(sink, source_of(DType::kQ8_0, {64, 7, 1, 1}), source_of(type, {64, 13, 2, 1}));
    for (const std::int64_t columns : {3, 9, 14}) {
      const CaseSource w = source_of(DType::kF16, {64, 7, 2, 1});
      emit_matmul(sink, w, seen_as(type, {64, columns, 2, 1}, {1, 0, 2, 3}));
      emit_matmul(sink, w, seen_as(type, {64, columns, 2, 1}, {0, 2, 1, 3}, {3, 1, 0, 0}));
    }
  }
  for (const auto& [w, x] : {std::pair{1, 0}, std::pair{0, 0}, std::pair{0, 3}}) {
    emit_matmul(sink, source_of(DType::kF32, {8, 5, w, 2}), source_of(DType::kF32, {8, 3, x, 1}));
  }
}

void matmul_cases(const Op&, const CaseSink& sink) {
  for (DType type : kWeightTypes) {
    matmul_size_cases(sink, type);
    matmul_batch_cases(sink, type);
    matmul_stride_cases(sink, type);
  }
  matmul_activation_cases(sink);
}

void solve_tri_cases(const Op& op, const CaseSink& sink) {
  // Nearly a triangle of ones. Its solution is the difference of neighbouring equations: errors do
  // not grow, and all elements differ.
  const auto triangle = [](const CaseSource& a) { return filled(a, Fill::kUniform, 0.99, 1.01); };
  const auto emit = [&](const CaseSource& a, const CaseSource& b) {
    for (const Triangle which : {Triangle::kLower, Triangle::kUpper}) {
      for (const bool unit : {false, true}) {
        const Params params = Params::of(SolveTriParams{which, unit});
        emit_case(sink, params, {triangle(a), b}, kSumError, op.describe(params));
      }
    }
  };
  constexpr DType kF32 = DType::kF32;
  const auto square = [](std::int64_t n, std::int64_t a2 = 1, std::int64_t a3 = 1) {
    return source_of(kF32, {n, n, a2, a3});
  };
  emit(square(1), source_of(kF32, {1, 1, 1, 1}));
  emit(square(7), source_of(kF32, {1, 7, 1, 1}));
  emit(square(16), source_of(kF32, {33, 16, 1, 1}));
  emit(square(65), source_of(kF32, {100, 65, 1, 1}));
  emit(square(100), source_of(kF32, {3, 100, 1, 1}));
  emit(square(0), source_of(kF32, {3, 0, 1, 1}));
  emit(square(5), source_of(kF32, {0, 5, 1, 1}));
  emit(square(6, 2, 3), source_of(kF32, {4, 6, 2, 3}));
  emit(square(6, 2, 1), source_of(kF32, {4, 6, 4, 3}));
  emit(square(6, 1, 3), source_of(kF32, {4, 6, 2, 6}));
  emit(square(6, 1, 0), source_of(kF32, {4, 6, 2, 0}));
  const CaseSource a = square(8, 2, 1);
  const CaseSource b = source_of(kF32, {5, 8, 4, 1});
  emit(seen_as(kF32, {8, 8, 2, 1}, {1, 0, 2, 3}), b);
  emit(seen_as(kF32, {8, 8, 2, 1}, {0, 2, 1, 3}), b);
  emit(seen_as(kF32, {8, 8, 2, 1}, {0, 1, 2, 3}, {2, 3, 1, 0}), b);
  emit(a, seen_as(kF32, {5, 8, 4, 1}, {1, 0, 2, 3}));
  emit(a, seen_as(kF32, {5, 8, 4, 1}, {2, 1, 0, 3}, {1, 2, 0, 0}));
}

}  // namespace

CaseList matrix_cases_list() {
  static constexpr OpCases kCases[] = {
      {matmul_op, matmul_cases},
      {solve_tri_op, solve_tri_cases},
  };
  return kCases;
}

}  // namespace shunt
