// Norms of rows. The machine sums along rows and repeats along them by products with a column and a
// row of the same number.
#include "ops/norm/norm.h"

#include "backends/zdnn/kernel.h"

namespace shunt::zdnn {

namespace {

Dims one_a_row(const Dims& dims) {
  return {dims.dim4, dims.dim2, 1};
}

class RowNorm : public ZdnnKernel {
 public:
  std::span<const Need> needs(const NodeView&) const final {
    static constexpr Need kNeeds[] = {
        kHas<Feature::kMul>,
        kHas<Feature::kMatmul>,
        kHas<Feature::kMatmulShared>,
        kHas<Feature::kBatchnorm>,
        kHas<Feature::kSub>,
        {Refusal::kVendorFunction,
         [](const NodeView&, const Machine& machine) {
           if (machine.has(Feature::kInvsqrt)) return std::string();
           const bool log = machine.has(Feature::kLog);
           return machine.why_not(log ? Feature::kExp : Feature::kLog);
         }},
        // A row is as high a column where it is summed.
        {Refusal::kShape, [](const NodeView& view, const Machine& machine) {
           const std::string why = too_large(machine, {1, view.result().size(0), 1});
           return why.empty() ? why : fmt::format("{} has {}", to_string(view.result()), why);
         }}};
    return kNeeds;
  }

  /// Two as large as the result, two of a number a row.
  std::vector<Dims> temporaries(const KernelUse& use) const final {
    const Dims dims = max_dims(use.view.result());
    return {dims, dims, one_a_row(dims), one_a_row(dims)};
  }
  /// x twice, its square, the mean and 1 / n, the root and the result; of a z16 that root is
  /// exp(-ln / 2), where ln is up to 22 and rounded.
  double roundings(const NodeView&, const Machine& machine) const final {
    return machine.has(Feature::kInvsqrt) ? 4 : 4 + 11.0 * 11.0;
  }

 protected:
  /// The mean of each row, plus `bias`.
  static bool mean(Launch& l, const Stick& x, float bias, Stick& to) {
    const std::int64_t n = x.dims().dim1;
    const Ztensor* const column = l.constant({1, n, 1}, 1 / static_cast<float>(n));
    if (column == nullptr) return false;
    return l.product(x, column, bias, to);
  }
  /// A number a row to all of its columns.
  static bool repeat(Launch& l, const Stick& x, Stick& to) {
    const Ztensor* const row = l.constant({1, 1, to.dims().dim1}, 1);
    return row != nullptr && l.product(x, row, 0.0F, to);
  }
  /// y = x / sqrt(mean(x^2) + eps), with temporaries 0, 2 and 3.
  static bool scale_to_one(Launch& l, const Stick& x, float eps, Stick& y) {
    const Dims few = one_a_row(x.dims());
    Stick& squares = l.temporary(0, x.dims());
    Stick& means = l.temporary(2, few);
    if (!l.mul(x, x, squares) || !mean(l, squares, eps, means)) return false;
    Stick& factors = l.temporary(3, few);
    if (!inverse_root(l, means, factors)) return false;
    Stick& repeated = l.temporary(0, x.dims());
    return repeat(l, factors, repeated) && l.mul(x, repeated, y);
  }

 private:
  /// 1 / sqrt(x), or exp(-ln(x) / 2); the contents of x are lost.
  static bool inverse_root(Launch& l, Stick& x, Stick& to) {
    if (l.machine().has(Feature::kInvsqrt)) {
      return l.call<&Symbols::invsqrt>(x, 0.0F, to);
    }
    if (!l.call<&Symbols::log>(x, to)) return false;
    Stick& half = l.temporary(2, to.dims());
    if (!l.affine(to, -0.5F, 0, half)) return false;
    return l.call<&Symbols::exp>(half, l.temporary(3, to.dims()));
  }
};

class RmsNorm final : public RowNorm {
 public:
  const Op& op() const override { return rms_norm_op(); }
  void run(Launch& l) const override {
    const float eps = l.params->get<RmsNormParams>().eps;
    (void)scale_to_one(l, *l.sources[0].stick, eps, *l.result);
  }
};

class Norm final : public RowNorm {
 public:
  const Op& op() const override { return norm_op(); }
  /// Where the mean of plain numbers is large relative to the remainder, rounding them first would
  /// lose the remainder.
  SourceForm form(const NodeView&, const Machine&, std::size_t source,
                  const SourcePlaces& places) const override {
    return places[source] == SourcePlace::kInLayout ? SourceForm::kSticks : SourceForm::kCentred;
  }
  void run(Launch& l) const override {
    const float eps = l.params->get<NormParams>().eps;
    const Stick& x = *l.sources[0].stick;
    if (l.sources[0].form == SourceForm::kCentred) {
      (void)scale_to_one(l, x, eps, *l.result);
      return;
    }
    // Twice: where the mean is large relative to the remainder, its rounding is not small relative
    // to that.
    (void)(centre(l, x, *l.result) && centre(l, *l.result, l.temporary(1, x.dims())) &&
           scale_to_one(l, l.temporaries[1], eps, *l.result));
  }

 private:
  static bool centre(Launch& l, const Stick& x, Stick& y) {
    Stick& means = l.temporary(2, one_a_row(x.dims()));
    Stick& repeated = l.temporary(0, x.dims());
    return mean(l, x, 0, means) && repeat(l, means, repeated) &&
           l.call<&Symbols::sub>(x, repeated, y);
  }
};

}  // namespace

KernelList norm_kernels() {
  return list_kernels<ZdnnKernel, RmsNorm, Norm>();
}

}  // namespace shunt::zdnn
