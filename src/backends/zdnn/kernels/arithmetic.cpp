// Sums, differences, products and quotients. The machine repeats nothing but rows, and those only
// by its batch norm, y = a * row + row. Other operands are taken a matrix at a time, and products
// with ones repeat numbers along rows. Repetitions that the layout does not have are made on the
// way into it.
#include <array>
#include <span>

#include "backend_support/kernel_rows.h"
#include "backends/zdnn/kernel.h"
#include "ops/elementwise/elementwise.h"

namespace shunt::zdnn {

namespace {

enum class Repeats : std::uint8_t {
  kNothing,
  kRow,       ///< one row for all
  kMatrices,  ///< matrices, and in each a row, a number a row, or a number
  kOther,     ///< several rows or columns: the layout has no such thing
};

Repeats repeats(const NodeView& view) {
  const Shape& a = view.source(0).shape;
  const Shape& b = view.source(1).shape;
  if (a == b) return Repeats::kNothing;
  const bool row = b[0] == a[0] && element_count(b) == b[0].max;
  if (row) return Repeats::kRow;
  const auto is_one = [](const Dim& dim) { return dim == Dim(1); };
  return (b[0] == a[0] || is_one(b[0])) && (b[1] == a[1] || is_one(b[1])) ? Repeats::kMatrices
                                                                          : Repeats::kOther;
}

/// One row an op: on tensors of the same shape, and with a row.
struct ArithmeticRow {
  const Op& (*op)();
  Need function;
  bool (*same)(Launch& l, const Stick& a, const Stick& b, Stick& y);
  bool (*row)(Launch& l, const Stick& a, const Stick& row, Stick& y);
};

constexpr std::array kArithmeticTable = {
    ArithmeticRow{
        add_op, kHas<Feature::kAdd>, direct<&Symbols::add>,
        [](Launch& l, const Stick& a, const Stick& row, Stick& y) { return l.add_row(a, row, y); }},
    ArithmeticRow{sub_op, kHas<Feature::kSub>, direct<&Symbols::sub>,
                  [](Launch& l, const Stick& a, const Stick& row, Stick& y) {
                    Stick& negative = l.temporary(0, row.dims());
                    return l.affine(row, -1, 0, negative) && l.add_row(a, negative, y);
                  }},
    ArithmeticRow{
        mul_op, kHas<Feature::kMul>, direct<&Symbols::mul>,
        [](Launch& l, const Stick& a, const Stick& row, Stick& y) { return l.mul_row(a, row, y); }},
    ArithmeticRow{div_op, kHas<Feature::kDiv>, direct<&Symbols::div>,
                  [](Launch& l, const Stick& a, const Stick& row, Stick& y) {
                    // Not times 1 / row, which may be less than the machine's smallest number.
                    Stick& divisors = l.temporary(0, a.dims());
                    return l.affine(a, 0, 1, y) && l.mul_row(y, row, divisors) &&
                           l.call<&Symbols::div>(a, divisors, y);
                  }},
};

/// Numbers are repeated by products.
constexpr Need kProductsForMatrices = {
    Refusal::kVendorFunction, [](const NodeView& view, const Machine& machine) -> std::string {
      return repeats(view) == Repeats::kMatrices ? machine.why_not(Feature::kMatmul) : "";
    }};

class Arithmetic final : public ZdnnKernel {
 public:
  explicit Arithmetic(const ArithmeticRow& row)
      : row_(row), needs_{row.function, kHas<Feature::kBatchnorm>, kProductsForMatrices} {}
  const Op& op() const override { return row_.op(); }

  std::span<const Need> needs(const NodeView&) const override { return needs_; }
  SourceForm form(const NodeView& view, const Machine&, std::size_t source,
                  const SourcePlaces&) const override {
    return source == 1 && repeats(view) == Repeats::kOther ? SourceForm::kPlain
                                                           : SourceForm::kSticks;
  }
  bool takes_weight(const NodeView& view, std::size_t source) const override {
    return source == 1 && repeats(view) == Repeats::kRow && WeightSticks::is_row(view.source(1));
  }
  /// Of a row, a quotient or numbers that are repeated; and these.
  std::vector<Dims> temporaries(const KernelUse& use) const override {
    const Repeats how = repeats(use.view);
    const Dims whole = max_dims(use.view.result());
    if (how == Repeats::kNothing) return {};
    if (how == Repeats::kRow && !divides()) return {max_dims(use.view.source(1))};
    if (how != Repeats::kMatrices) return {whole};
    const Dims matrix{1, whole.dim2, whole.dim1};
    return {divides() ? whole : matrix, matrix};
  }
  std::size_t staging(const KernelUse& use) const override {
    if (use.forms[1] != SourceForm::kPlain) return 0;
    return static_cast<std::size_t>(element_count(use.view.result().shape)) * sizeof(float);
  }

  void run(Launch& l) const override {
    const Stick& a = *l.sources[0].stick;
    if (l.sources[1].stick == nullptr) {
      Stick& b = l.temporary(0, a.dims());
      auto* const repeated = reinterpret_cast<float*>(l.staging);
      gather(l.sources[1].host, l.sizes, repeated);
      (void)(l.to_machine(repeated, b) && row_.same(l, a, b, *l.result));
      return;
    }
    const Stick& b = *l.sources[1].stick;
    if (a.dims() == b.dims()) {
      (void)row_.same(l, a, b, *l.result);
    } else if (b.dims() == Dims{1, 1, a.dims().dim1}) {
      (void)row_.row(l, a, b, *l.result);
    } else {
      (void)repeat_matrices(l, a, b);
    }
  }

  /// Two operands and a result are rounded, and perhaps an intermediate.
  double roundings(const NodeView&, const Machine&) const override { return 2; }

 private:
  /// A repeated operand is kept for the next matrix, if that has the same one.
  bool repeat_matrices(Launch& l, const Stick& a, const Stick& b) const {
    const Sizes& repeated = l.sources[1].sizes;
    const bool number = repeated[0] == 1 && l.sizes[0] != 1;
    std::int64_t now = -1;
    Stick of_b;
    return each_matrix(l, a, *l.result, [&](std::int64_t i, const Stick& of_a, Stick& of_y) {
      const std::int64_t j = repeated_matrix(l.sizes, i, repeated);
      if (j != now) b.slice(l.zdnn(), j, of_b);
      if (number && j != now) {
        // A column of numbers times a row of ones.
        const Ztensor* const ones = l.constant({1, 1, l.sizes[0]}, 1);
        Stick& row = l.temporary(1, {1, of_b.dims().dim2, l.sizes[0]});
        if (ones == nullptr || !l.product(of_b, ones, 0.0F, row)) return false;
      }
      now = j;
      const Stick& other = number ? l.temporaries[1] : of_b;
      const auto function = other.dims() == of_a.dims() ? row_.same : row_.row;
      return function(l, of_a, other, of_y);
    });
  }

  bool divides() const { return row_.op == div_op; }

  const ArithmeticRow& row_;
  std::array<Need, 3> needs_;
};

}  // namespace

KernelList arithmetic_kernels() {
  static const KernelRows<Arithmetic, ZdnnKernel> kKernels(kArithmeticTable);
  return kKernels.list();
}

}  // namespace shunt::zdnn
