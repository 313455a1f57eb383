// Sums, differences, products and quotients. The machine repeats nothing but rows, and those only
// by its batch norm, y = a * row + row; all else is repeated on its way in.
#include <array>

#include "backends/zdnn/kernel.h"
#include "ops/elementwise/elementwise.h"

namespace shunt::zdnn {

namespace {

enum class Repeats : std::uint8_t { kNothing, kRow, kOther };

Repeats repeats(const NodeView& view) {
  const Shape& a = view.source(0).shape;
  const Shape& b = view.source(1).shape;
  if (a == b) return Repeats::kNothing;
  const bool row = b[0] == a[0] && element_count(b) == b[0].max;
  return row ? Repeats::kRow : Repeats::kOther;
}

/// One row an op: on tensors of the same shape, and with a row.
struct Row {
  const Op& (*op)();
  Feature feature;
  bool (*same)(Launch& l, const Stick& a, const Stick& b, Stick& y);
  bool (*row)(Launch& l, const Stick& a, const Stick& row, Stick& y);
};

constexpr std::array kRows = {
    Row{add_op, Feature::kAdd,
        [](Launch& l, const Stick& a, const Stick& b, Stick& y) { return l.add(a, b, y); },
        [](Launch& l, const Stick& a, const Stick& row, Stick& y) { return l.add_row(a, row, y); }},
    Row{sub_op, Feature::kSub,
        [](Launch& l, const Stick& a, const Stick& b, Stick& y) { return l.sub(a, b, y); },
        [](Launch& l, const Stick& a, const Stick& row, Stick& y) {
          Stick& negative = l.temporary(0, row.dims());
          return l.affine(row, -1, 0, negative) && l.add_row(a, negative, y);
        }},
    Row{mul_op, Feature::kMul,
        [](Launch& l, const Stick& a, const Stick& b, Stick& y) { return l.mul(a, b, y); },
        [](Launch& l, const Stick& a, const Stick& row, Stick& y) { return l.mul_row(a, row, y); }},
    Row{div_op, Feature::kDiv,
        [](Launch& l, const Stick& a, const Stick& b, Stick& y) {
          return l.binary("zdnn_div", l.zdnn().div, a, b, y);
        },
        [](Launch& l, const Stick& a, const Stick& row, Stick& y) {
          // Not times 1 / row, which may be less than the machine's smallest number.
          Stick& divisors = l.temporary(0, a.dims());
          return l.affine(a, 0, 1, y) && l.mul_row(y, row, divisors) &&
                 l.binary("zdnn_div", l.zdnn().div, a, divisors, y);
        }},
};

class Arithmetic final : public ZdnnKernel {
 public:
  explicit Arithmetic(const Row& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }

  Support supports_on(const NodeView& view, const Machine& machine) const override {
    const std::array features = {row_.feature, Feature::kBatchnorm};
    return needs(view, machine, features);
  }
  bool reads_plain(const NodeView& view, const Machine&, std::size_t source) const override {
    return source == 1 && repeats(view) == Repeats::kOther;
  }
  bool takes_weight(const NodeView& view, std::size_t source) const override {
    return source == 1 && repeats(view) == Repeats::kRow && WeightSticks::is_row(view.source(1));
  }
  std::vector<Dims> temporaries(const NodeView& view, const Machine&) const override {
    if (repeats(view) == Repeats::kNothing) return {};
    const bool row = repeats(view) == Repeats::kRow && row_.feature != Feature::kDiv;
    return {max_dims(row ? view.source(1) : view.result())};
  }
  std::size_t staging(const NodeView& view, const Machine&) const override {
    if (repeats(view) != Repeats::kOther) return 0;
    return static_cast<std::size_t>(element_count(view.result().shape)) * sizeof(float);
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
    (void)(a.dims() == b.dims() ? row_.same(l, a, b, *l.result) : row_.row(l, a, b, *l.result));
  }

  /// Two operands and a result are rounded, and perhaps what stands between.
  double roundings(const NodeView&, const Machine&) const override { return 2; }

 private:
  const Row& row_;
};

}  // namespace

KernelList arithmetic_kernels() {
  static const std::array<Arithmetic, kRows.size()> kKernels = {
      Arithmetic(kRows[0]), Arithmetic(kRows[1]), Arithmetic(kRows[2]), Arithmetic(kRows[3])};
  static const std::array<const ZdnnKernel*, kRows.size()> kList = {&kKernels[0], &kKernels[1],
                                                                    &kKernels[2], &kKernels[3]};
  return kList;
}

}  // namespace shunt::zdnn
