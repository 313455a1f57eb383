#include <algorithm>
#include <optional>

#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/matrix/matrix.h"

namespace shunt {

namespace {

/// Sizes of a case: experts, and columns that each of so many tokens uses.
struct Size {
  std::int64_t k, m, experts, used, tokens;
};

/// Experts are chosen at random, or are all `only`.
void emit(const CaseSink& sink, const CaseSource& w, const CaseSource& x, const CaseSource& ids,
          std::optional<int> only = {}) {
  const auto experts = static_cast<double>(sizes_of(w)[2]);
  const std::vector<CaseSource> sources = {
      w, x,
      only ? filled(ids, Fill::kIndex, *only, *only + 1) : filled(ids, Fill::kIndex, 0, experts)};
  const Sizes sizes = sizes_of(ids);
  sink({.name = describe_sources(sources, only ? fmt::format("of expert {}", *only) : ""),
        .params = Params::of(NoParams{}),
        .sources = sources,
        // Of BF16 weights x is not rounded here.
        .max_error = w.dtype == DType::kBF16
                         ? kSumError
                         : product_error(w.dtype, sizes_of(w)[1] * sizes[0] * sizes[1])});
}

void size_cases(const CaseSink& sink, DType type) {
  constexpr std::array kPlain = {
      Size{1, 1, 1, 1, 1},   Size{7, 3, 2, 1, 3},    Size{33, 5, 3, 2, 5}, Size{63, 2, 4, 2, 2},
      Size{100, 7, 3, 2, 9}, Size{129, 33, 2, 1, 1}, Size{0, 3, 2, 1, 2},
  };
  // Whole blocks; few columns an expert, many, and none.
  constexpr std::array kBlocks = {
      Size{32, 1, 4, 2, 1},   Size{64, 33, 4, 2, 1},  Size{64, 16, 8, 2, 7},  Size{96, 7, 3, 1, 40},
      Size{256, 3, 2, 2, 9},  Size{64, 31, 2, 1, 33}, Size{544, 40, 4, 4, 5}, Size{32, 9, 64, 6, 3},
      Size{64, 5, 1, 1, 110}, Size{64, 0, 2, 1, 2},   Size{64, 3, 2, 2, 0},
  };
  const std::int64_t block = trait(type).block_elements;
  const auto emit_size = [&](const Size& s) {
    const std::int64_t k = (s.k + block - 1) / block * block;
    const CaseSource w = source_of(type, {k, s.m, s.experts, 1});
    const CaseSource ids = source_of(DType::kI32, {s.used, s.tokens, 1, 1});
    emit(sink, w, source_of(DType::kF32, {k, 1, s.tokens, 1}), ids);
    if (s.used > 1) emit(sink, w, source_of(DType::kF32, {k, s.used, s.tokens, 1}), ids);
  };
  if (!trait(type).quantized) {
    for (const Size& size : kPlain) emit_size(size);
  }
  for (const Size& size : kBlocks) emit_size(size);
}

void stride_cases(const CaseSink& sink, DType type) {
  constexpr DType kF32 = DType::kF32;
  constexpr DType kI32 = DType::kI32;
  const std::int64_t block = std::max<std::int64_t>(32, trait(type).block_elements);
  const std::int64_t k = 2 * block;
  const CaseSource w = source_of(type, {k, 5, 3, 1});
  for (std::int64_t tokens : {2, 9}) {
    const CaseSource x = source_of(kF32, {k, 2, tokens, 1});
    const CaseSource ids = source_of(kI32, {2, tokens, 1, 1});
    emit(sink, seen_as(type, {k, 5, 3, 1}, {0, 2, 1, 3}), x, ids);
    emit(sink, seen_as(type, {k, 5, 3, 1}, {0, 1, 2, 3}, {block, 1, 1, 0}), x, ids);
    emit(sink, w, seen_as(kF32, {k, 2, tokens, 1}, {0, 2, 1, 3}), ids);
    emit(sink, w, seen_as(kF32, {k, 2, tokens, 1}, {1, 0, 2, 3}), ids);
    emit(sink, w, seen_as(kF32, {k, 2, tokens, 1}, {0, 1, 2, 3}, {3, 1, 1, 0}), ids);
    // Two of a row of more, as a choice of the best leaves them.
    emit(sink, w, x, seen_as(kI32, {2, tokens, 1, 1}, {0, 1, 2, 3}, {5, 0, 0, 0}));
    emit(sink, w, x, seen_as(kI32, {2, tokens, 1, 1}, {1, 0, 2, 3}, {1, 2, 0, 0}));
    emit(sink, w, x, ids, 1);
    if (trait(type).quantized) continue;
    emit(sink, seen_as(type, {k, 5, 3, 1}, {1, 0, 2, 3}), x, ids);
    emit(sink, seen_as(type, {33, 5, 3, 1}, {2, 0, 1, 3}, {1, 0, 0, 0}),
         seen_as(kF32, {33, 2, tokens, 1}, {2, 1, 0, 3}), ids);
  }
}

/// Halves as x, numbers of 64 bits, and both; few columns of an expert, and many.
void type_cases(const CaseSink& sink) {
  for (const DType w : {DType::kF32, DType::kF16, DType::kQ8_0}) {
    for (const DType type : kFloatTypes) {
      for (const DType of_ids : kIdTypes) {
        if (type == DType::kF32 && of_ids == DType::kI32) continue;
        for (const std::int64_t tokens : {0, 1, 3, 20}) {
          const CaseSource experts = source_of(w, {64, 37, 4, 1});
          const CaseSource ids = source_of(of_ids, {2, tokens, 1, 1});
          emit(sink, experts, source_of(type, {64, 1, tokens, 1}), ids);
          emit(sink, experts, source_of(type, {64, 2, tokens, 1}), ids);
          emit(sink, experts, seen_as(type, {64, 2, tokens, 1}, {1, 2, 0, 3}), ids);
          emit(sink, experts, seen_as(type, {64, 2, tokens, 1}, {0, 2, 1, 3}, {3, 1, 1, 0}),
               seen_as(of_ids, {2, tokens, 1, 1}, {1, 0, 2, 3}, {2, 1, 0, 0}));
        }
      }
    }
  }
  // Two columns of x that take more room than a tile.
  for (const DType type : {DType::kF16, DType::kBF16}) {
    const CaseSource ids = source_of(DType::kI64, {2, 3, 1, 1});
    emit(sink, source_of(DType::kF16, {14001, 3, 2, 1}), source_of(type, {14001, 1, 3, 1}), ids);
  }
}

class MatmulId final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "matmul_id",
        .family = "matrix",
        .summary =
            "Product of each token with the matrices of the experts that are chosen for it: y[m, "
            "u, t] = sum over k of w[k, m, ids[u, t]] * x[k, u, t], where x may have one column "
            "for all u. A run with a number that there is no expert for fails. w is of any type "
            "but F64 and integers. Where w is quantised, a device may round x to blocks of 8-bit "
            "integers, at a normalised mean square error of at most 4e-5 * (1 + 64 / n) over n "
            "elements of y.",
        .sources = {"w", "x", "ids"},
        .picks = Picks{.ids = 2, .dim = 2}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& w = *sources[0];
    const Tensor& x = *sources[1];
    const Tensor& ids = *sources[2];
    SHUNT_TRY(expect_weight_type("w", w));
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_id_type("ids", ids));
    SHUNT_TRY(expect_dims("w", w, 3));
    SHUNT_TRY(expect_dims("x", x, 3));
    SHUNT_TRY(expect_dims("ids", ids, 2));
    SHUNT_TRY(expect_dim("x", x, 0, w.shape[0], "that of w"));
    SHUNT_TRY(expect_dim("x", x, 2, ids.shape[1], "dimension 1 of ids"));
    if (x.shape[1] != Dim(1)) SHUNT_TRY(expect_dim("x", x, 1, ids.shape[0], "dimension 0 of ids"));
    return contiguous(DType::kF32, {w.shape[1], ids.shape[0], ids.shape[1], 1});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& w = *sources[0];
    const RefTensor& x = *sources[1];
    for_each_element(result.sizes, [&](const Sizes& i) {
      const auto expert = static_cast<std::int64_t>(sources[2]->at(i[1], i[2]));
      if (expert < 0 || expert >= w.sizes[2]) return;
      const std::int64_t column = x.sizes[1] == 1 ? 0 : i[1];
      const double* w_row = w.data.data() + w.index(0, i[0], expert, 0);
      const double* x_row = x.data.data() + x.index(0, column, i[2], 0);
      double sum = 0;
      for (std::int64_t k = 0; k < w.sizes[0]; ++k) sum += w_row[k] * x_row[k];
      at(result, i) = sum;
    });
  }

  /// A multiplication and an addition for each k.
  double operations(const Tensor& result, SourceTensors sources, const Params&) const override {
    return 2.0 * static_cast<double>(sources[0]->size(0)) *
           static_cast<double>(element_count(result.shape));
  }

  void cases(const CaseSink& sink) const override {
    for (DType type : kWeightTypes) {
      size_cases(sink, type);
      stride_cases(sink, type);
    }
    type_cases(sink);
  }
};

}  // namespace

const Op& matmul_id_op() {
  static const MatmulId kOp;
  return kOp;
}

Result<Value> matmul_id(GraphBuilder& g, Operand w, Operand x, Operand ids) {
  return g.apply(matmul_id_op(), Params::of(NoParams{}), {&w, &x, &ids});
}

}  // namespace shunt
