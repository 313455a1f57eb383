#include <algorithm>
#include <optional>

#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/matrix/matrix.h"

namespace shunt {

namespace {

/// Experts are chosen at random, or expert `only` is chosen everywhere.
void emit_matmul_id(const CaseSink& sink, const CaseSource& w, const CaseSource& x,
                    const CaseSource& ids, std::optional<int> only = {}) {
  const auto experts = static_cast<double>(sizes_of(w)[2]);
  const std::vector<CaseSource> sources = {
      w, x,
      only ? filled(ids, Fill::kIndex, *only, *only + 1) : filled(ids, Fill::kIndex, 0, experts)};
  const Sizes sizes = sizes_of(ids);
  // With BF16 weights x is not rounded here.
  const double max_error = w.dtype == DType::kBF16
                               ? kSumError
                               : product_error(w.dtype, sizes_of(w)[1] * sizes[0] * sizes[1]);
  emit_case(sink, Params::of(NoParams{}), sources, max_error,
            only ? fmt::format("of expert {}", *only) : "");
}

void matmul_id_size_cases(const CaseSink& sink, DType type) {
  struct Size {
    std::int64_t k, m, experts, used, tokens;
  };
  constexpr std::array kPlain = {
      Size{1, 1, 1, 1, 1},  Size{7, 3, 2, 1, 3},   Size{33, 5, 3, 2, 5},
      Size{63, 2, 4, 2, 2}, Size{100, 7, 3, 2, 9}, Size{129, 33, 2, 1, 1},
  };
  // Whole blocks; few, many and no columns per expert.
  constexpr std::array kBlocks = {
      Size{32, 1, 4, 2, 1},   Size{64, 33, 4, 2, 1},  Size{64, 16, 8, 2, 7},  Size{96, 7, 3, 1, 40},
      Size{256, 3, 2, 2, 9},  Size{64, 31, 2, 1, 33}, Size{544, 40, 4, 4, 5}, Size{32, 9, 64, 6, 3},
      Size{64, 5, 1, 1, 250}, Size{64, 0, 2, 1, 2},   Size{64, 3, 2, 2, 0},   Size{0, 3, 2, 1, 20},
  };
  const std::int64_t block = trait(type).block_elements;
  const auto emit_size = [&](const Size& s) {
    const std::int64_t k = (s.k + block - 1) / block * block;
    const CaseSource w = source_of(type, {k, s.m, s.experts, 1});
    const CaseSource ids = source_of(DType::kI32, {s.used, s.tokens, 1, 1});
    emit_matmul_id(sink, w, source_of(DType::kF32, {k, 1, s.tokens, 1}), ids);
    if (s.used > 1) emit_matmul_id(sink, w, source_of(DType::kF32, {k, s.used, s.tokens, 1}), ids);
  };
  if (!trait(type).quantized) {
    for (const Size& size : kPlain) emit_size(size);
  }
  for (const Size& size : kBlocks) emit_size(size);
}

void matmul_id_stride_cases(const CaseSink& sink, DType type) {
  constexpr DType kF32 = DType::kF32;
  constexpr DType kI32 = DType::kI32;
  const std::int64_t block = std::max<std::int64_t>(32, trait(type).block_elements);
  const std::int64_t k = 2 * block;
  const CaseSource w = source_of(type, {k, 5, 3, 1});
  for (std::int64_t tokens : {2, 9}) {
    const CaseSource x = source_of(kF32, {k, 2, tokens, 1});
    const CaseSource ids = source_of(kI32, {2, tokens, 1, 1});
    emit_matmul_id(sink, seen_as(type, {k, 5, 3, 1}, {0, 2, 1, 3}), x, ids);
    emit_matmul_id(sink, seen_as(type, {k, 5, 3, 1}, {0, 1, 2, 3}, {block, 1, 1, 0}), x, ids);
    emit_matmul_id(sink, w, seen_as(kF32, {k, 2, tokens, 1}, {0, 2, 1, 3}), ids);
    emit_matmul_id(sink, w, seen_as(kF32, {k, 2, tokens, 1}, {1, 0, 2, 3}), ids);
    emit_matmul_id(sink, w, seen_as(kF32, {k, 2, tokens, 1}, {0, 1, 2, 3}, {3, 1, 1, 0}), ids);
    // Two columns of a longer row, as from top_k.
    emit_matmul_id(sink, w, x, seen_as(kI32, {2, tokens, 1, 1}, {0, 1, 2, 3}, {5, 0, 0, 0}));
    emit_matmul_id(sink, w, x, seen_as(kI32, {2, tokens, 1, 1}, {1, 0, 2, 3}, {1, 2, 0, 0}));
    emit_matmul_id(sink, w, x, ids, 1);
    if (trait(type).quantized) continue;
    emit_matmul_id(sink, seen_as(type, {k, 5, 3, 1}, {1, 0, 2, 3}), x, ids);
    emit_matmul_id(sink, seen_as(type, {33, 5, 3, 1}, {2, 0, 1, 3}, {1, 0, 0, 0}),
                   seen_as(kF32, {33, 2, tokens, 1}, {2, 1, 0, 3}), ids);
  }
}

/// x of F16 and BF16, ids of 64 bits, and both; few and many columns per expert.
void matmul_id_type_cases(const CaseSink& sink) {
  for (const DType w : {DType::kF32, DType::kF16, DType::kQ8_0}) {
    for (const DType type : kFloatTypes) {
      for (const DType of_ids : kIdTypes) {
        if (type == DType::kF32 && of_ids == DType::kI32) continue;
        for (const std::int64_t tokens : {0, 1, 3, 20}) {
          const CaseSource experts = source_of(w, {64, 37, 4, 1});
          const CaseSource ids = source_of(of_ids, {2, tokens, 1, 1});
          emit_matmul_id(sink, experts, source_of(type, {64, 1, tokens, 1}), ids);
          emit_matmul_id(sink, experts, source_of(type, {64, 2, tokens, 1}), ids);
          emit_matmul_id(sink, experts, seen_as(type, {64, 2, tokens, 1}, {1, 2, 0, 3}), ids);
          emit_matmul_id(sink, experts,
                         seen_as(type, {64, 2, tokens, 1}, {0, 2, 1, 3}, {3, 1, 1, 0}),
                         seen_as(of_ids, {2, tokens, 1, 1}, {1, 0, 2, 3}, {2, 1, 0, 0}));
        }
      }
    }
  }
  // Two columns of x are larger than a tile.
  for (const DType type : {DType::kF16, DType::kBF16}) {
    const CaseSource ids = source_of(DType::kI64, {2, 3, 1, 1});
    emit_matmul_id(sink, source_of(DType::kF16, {14001, 3, 2, 1}),
                   source_of(type, {14001, 1, 3, 1}), ids);
  }
}

/// More experts and more columns than a device may sort at once.
void matmul_id_many_cases(const CaseSink& sink) {
  struct Size {
    std::int64_t experts, used, tokens;
  };
  for (const Size& s : {Size{600, 4, 200}, Size{3, 2, 700}, Size{1100, 1, 9}, Size{1100, 2, 20}}) {
    emit_matmul_id(sink, source_of(DType::kF32, {8, 3, s.experts, 1}),
                   source_of(DType::kF32, {8, s.used, s.tokens, 1}),
                   source_of(DType::kI32, {s.used, s.tokens, 1, 1}));
  }
}

void matmul_id_cases(const Op&, const CaseSink& sink) {
  for (DType type : kWeightTypes) {
    matmul_id_size_cases(sink, type);
    matmul_id_stride_cases(sink, type);
  }
  matmul_id_type_cases(sink);
  matmul_id_many_cases(sink);
}

}  // namespace

CaseList matrix_experts_cases_list() {
  static constexpr OpCases kCases[] = {
      {matmul_id_op, matmul_id_cases},
  };
  return kCases;
}

}  // namespace shunt
