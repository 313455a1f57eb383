#include <algorithm>

#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/matrix/matrix.h"

namespace shunt {

namespace {

struct Batch {
  std::int64_t w2, x2, w3, x3;
};

void emit(const CaseSink& sink, const CaseSource& w, const CaseSource& x) {
  const std::vector<CaseSource> sources = {w, x};
  const Sizes of_w = sizes_of(w);
  const Sizes of_x = sizes_of(x);
  const std::int64_t sums =
      of_w[1] * of_x[1] * std::max(of_w[2], of_x[2]) * std::max(of_w[3], of_x[3]);
  sink({.name = describe_sources(sources),
        .params = Params::of(NoParams{}),
        .sources = sources,
        .max_error = product_error(w.dtype, sums)});
}

/// Plain matrices: lengths of rows around the widths of vectors and blocks, from one product to
/// many.
void matrix_cases(const CaseSink& sink, DType type) {
  struct Size {
    std::int64_t k, m, n;
  };
  constexpr std::array kPlain = {
      Size{1, 1, 1},  Size{7, 3, 2},  Size{31, 4, 3},  Size{33, 5, 1},  Size{33, 16, 5},
      Size{63, 2, 2}, Size{65, 9, 4}, Size{100, 7, 9}, Size{129, 3, 1}, Size{0, 3, 2},
  };
  constexpr std::array kBlocks = {
      Size{32, 1, 1},   Size{32, 5, 3},   Size{64, 1, 7},  Size{64, 16, 1},  Size{64, 33, 2},
      Size{96, 7, 5},   Size{128, 4, 4},  Size{256, 8, 1}, Size{256, 3, 17}, Size{64, 31, 33},
      Size{512, 64, 1}, Size{160, 17, 8}, Size{64, 0, 2},  Size{64, 3, 0},
  };
  const auto emit_size = [&](const Size& size) {
    const std::int64_t k = round_up(size.k, trait(type).block_elements);
    emit(sink, source_of(type, {k, size.m, 1, 1}), source_of(DType::kF32, {k, size.n, 1, 1}));
  };
  // Longer, higher and wider than what kernels take at once.
  constexpr std::array kLong = {Size{1100, 37, 13}, Size{2051, 3, 14}, Size{65, 70, 61}};
  if (!trait(type).quantized) {
    for (const Size& size : kPlain) emit_size(size);
    for (const Size& size : kLong) emit_size(size);
  }
  for (const Size& size : kBlocks) emit_size(size);
}

void batch_cases(const CaseSink& sink, DType type) {
  constexpr std::array kBatches = {Batch{2, 2, 1, 1}, Batch{1, 3, 1, 1}, Batch{2, 6, 1, 1},
                                   Batch{1, 1, 2, 2}, Batch{1, 2, 1, 3}, Batch{2, 4, 3, 3},
                                   Batch{2, 4, 2, 4}, Batch{4, 2, 1, 3}, Batch{6, 1, 3, 3}};
  const std::int64_t block = std::max<std::int64_t>(32, trait(type).block_elements);
  for (const Batch& b : kBatches) {
    emit(sink, source_of(type, {2 * block, 5, b.w2, b.w3}),
         source_of(DType::kF32, {2 * block, 3, b.x2, b.x3}));
    emit(sink, source_of(type, {block, 6, b.w2, b.w3}),
         source_of(DType::kF32, {block, 1, b.x2, b.x3}));
  }
  for (const Batch& b : {Batch{2, 6, 1, 3}, Batch{6, 2, 3, 1}}) {
    emit(sink, source_of(type, {block, 5, b.w2, b.w3}),
         source_of(DType::kF32, {block, 19, b.x2, b.x3}));
  }
}

void stride_cases(const CaseSink& sink, DType type) {
  constexpr DType kF32 = DType::kF32;
  const std::int64_t block = std::max<std::int64_t>(32, trait(type).block_elements);
  const std::int64_t k = 2 * block;
  const CaseSource w = source_of(type, {k, 5, 2, 1});
  const CaseSource x = source_of(kF32, {k, 3, 4, 1});
  emit(sink, seen_as(type, {k, 5, 2, 1}, {0, 2, 1, 3}), x);
  emit(sink, seen_as(type, {k, 5, 2, 1}, {0, 1, 2, 3}, {block, 1, 1, 0}), x);
  emit(sink, w, seen_as(kF32, {k, 3, 4, 1}, {0, 2, 1, 3}));
  emit(sink, w, seen_as(kF32, {k, 3, 4, 1}, {1, 0, 2, 3}));
  emit(sink, w, seen_as(kF32, {k, 3, 4, 1}, {0, 1, 2, 3}, {3, 1, 1, 0}));
  emit(sink, seen_as(type, {k, 5, 2, 1}, {0, 2, 1, 3}),
       seen_as(kF32, {k, 3, 4, 1}, {0, 2, 1, 3}, {0, 2, 0, 0}));
  emit(sink, seen_as(type, {k, 5, 2, 1}, {0, 2, 1, 3}), source_of(kF32, {k, 19, 4, 1}));
  emit(sink, w, seen_as(kF32, {k, 19, 4, 1}, {1, 0, 2, 3}));
  if (trait(type).quantized) return;
  emit(sink, seen_as(type, {64, 5, 2, 1}, {1, 0, 2, 3}), x);
  emit(sink, seen_as(type, {64, 5, 2, 1}, {1, 0, 2, 3}), source_of(kF32, {64, 19, 2, 1}));
  emit(sink, seen_as(type, {33, 5, 2, 1}, {2, 0, 1, 3}, {1, 0, 0, 0}),
       seen_as(kF32, {33, 3, 4, 1}, {2, 1, 0, 3}));
}

/// Halves as x, and zero slices on either side.
void activation_cases(const CaseSink& sink) {
  constexpr std::array kSizes = {Sizes{64, 5, 2, 1}, Sizes{33, 4, 2, 3}, Sizes{600, 14, 2, 1},
                                 Sizes{7, 1, 2, 1}, Sizes{0, 3, 2, 1}};
  for (const DType type : {DType::kF16, DType::kBF16}) {
    for (const Sizes& s : kSizes) {
      emit(sink, source_of(DType::kF32, {s[0], 7, 2, 1}), source_of(type, s));
      emit(sink, source_of(type, {s[0], 40, 1, 1}), source_of(type, s));
    }
    emit(sink, source_of(DType::kQ8_0, {64, 7, 1, 1}), source_of(type, {64, 3, 2, 1}));
    emit(sink, source_of(DType::kQ8_0, {64, 7, 1, 1}), source_of(type, {64, 13, 2, 1}));
    for (const std::int64_t columns : {3, 9, 14}) {
      const CaseSource w = source_of(DType::kF16, {64, 7, 2, 1});
      emit(sink, w, seen_as(type, {64, columns, 2, 1}, {1, 0, 2, 3}));
      emit(sink, w, seen_as(type, {64, columns, 2, 1}, {0, 2, 1, 3}, {3, 1, 0, 0}));
    }
  }
  for (const auto& [w, x] : {std::pair{1, 0}, std::pair{0, 0}, std::pair{0, 3}}) {
    emit(sink, source_of(DType::kF32, {8, 5, w, 2}), source_of(DType::kF32, {8, 3, x, 1}));
  }
}

class Matmul final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "matmul",
        .family = "matrix",
        .summary =
            "Product of matrices: y[m, n] = sum over k of w[k, m] * x[k, n]. Along dimensions 2 "
            "and 3 the one with fewer slices is repeated: slice i2 of y is that of slice i2 / "
            "(Y2 / W2) of w and of slice i2 / (Y2 / X2) of x. w is of any type but F64 and "
            "integers. Where w is quantised, a device may round x to blocks of 8-bit integers, at "
            "a normalised mean square error of at most 4e-5 * (1 + 64 / n) over n elements of y. "
            "Where w is BF16, it may round x to BF16, at one of at most 6e-6 * (1 + 64 / n), and "
            "take numbers below 2^-126 for 0.",
        .sources = {"w", "x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& w = *sources[0];
    const Tensor& x = *sources[1];
    SHUNT_TRY(expect_weight_type("w", w));
    SHUNT_TRY(expect_type("x", x, {DType::kF32, DType::kF16, DType::kBF16}));
    SHUNT_TRY(expect_dim("x", x, 0, w.shape[0], "that of w"));
    Shape shape = {w.shape[1], x.shape[1]};
    for (std::size_t i : {2, 3}) {
      const bool repeats_w = divides(w.shape[i], x.shape[i]);
      if (!repeats_w && !divides(x.shape[i], w.shape[i])) {
        return invalid(
            "dimension {} of w is {}, and that of x is {}, neither of which divides "
            "the other",
            i, to_string(w.shape[i]), to_string(x.shape[i]));
      }
      shape[i] = repeats_w ? x.shape[i] : w.shape[i];
    }
    return contiguous(DType::kF32, shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& w = *sources[0];
    const RefTensor& x = *sources[1];
    const Sizes& y = result.sizes;
    for_each_element(y, [&](const Sizes& i) {
      const auto row = [&](const RefTensor& of, std::int64_t i1) {
        const auto slice = [&](std::size_t d) { return i[d] / (y[d] / of.sizes[d]); };
        return of.data.data() + of.index(0, i1, slice(2), slice(3));
      };
      const double* w_row = row(w, i[0]);
      const double* x_row = row(x, i[1]);
      double sum = 0;
      for (std::int64_t k = 0; k < x.sizes[0]; ++k) sum += w_row[k] * x_row[k];
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
      matrix_cases(sink, type);
      batch_cases(sink, type);
      stride_cases(sink, type);
    }
    activation_cases(sink);
  }
};

}  // namespace

const Op& matmul_op() {
  static const Matmul kOp;
  return kOp;
}

Result<Value> matmul(GraphBuilder& g, Operand w, Operand x) {
  return g.apply(matmul_op(), Params::of(NoParams{}), {&w, &x});
}

}  // namespace shunt
