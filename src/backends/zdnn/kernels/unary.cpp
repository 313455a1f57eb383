// Functions of each element: those of the machine, and compositions of a few of them.
#include "backends/zdnn/kernels/unary.h"

#include <algorithm>

#include "backend_support/kernel_rows.h"
#include "shunt/ops/unary.h"

namespace shunt::zdnn {

namespace {

/// Where the argument of an exponential is rounded, the result is off by that times the argument's
/// size: up to 22, beyond which the machine has no numbers.
constexpr double kOfExponential = 22.0 * 22.0;

bool relu(Launch& l, const Stick& x, Stick& y) {
  return l.call<&Symbols::relu>(x, nullptr, y);
}

bool silu(Launch& l, const Stick& x, Stick& y) {
  Stick& s = l.temporary(0, x.dims());
  return l.call<&Symbols::sigmoid>(x, s) && l.mul(x, s, y);
}

/// y = x * sigmoid(2 c (x + 0.044715 x^3)), c = sqrt(2 / pi): gelu by its approximation with tanh,
/// as (1 + tanh u) / 2 is sigmoid(2 u). (The machine's own gelu, of z17, is off by more than 1% for
/// some numbers, says its documentation.)
bool gelu(Launch& l, const Stick& x, Stick& y) {
  constexpr float kTwice = 1.5957691216057308F;
  Stick& a = l.temporary(0, x.dims());
  Stick& b = l.temporary(1, x.dims());
  if (!l.mul(x, x, a) || !l.affine(a, 0.044715F * kTwice, kTwice, b)) return false;
  Stick& u = l.temporary(0, x.dims());
  if (!l.mul(x, b, u)) return false;
  Stick& s = l.temporary(1, x.dims());
  return l.call<&Symbols::sigmoid>(u, s) && l.mul(x, s, y);
}

bool gelu_quick(Launch& l, const Stick& x, Stick& y) {
  constexpr float kSlope = 1.702F;
  Stick& t = l.temporary(0, x.dims());
  Stick& s = l.temporary(1, x.dims());
  return l.affine(x, kSlope, 0, t) && l.call<&Symbols::sigmoid>(t, s) && l.mul(x, s, y);
}

constexpr auto square = [](Launch& l, const Stick& x, Stick& y) { return l.mul(x, x, y); };
constexpr auto negate = [](Launch& l, const Stick& x, Stick& y) { return l.affine(x, -1, 0, y); };

const std::vector<UnaryRow>& unary_rows() {
  using F = Feature;
  static const std::vector<Need> kGelu = {kHas<F::kMul>, kHas<F::kBatchnorm>, kHas<F::kSigmoid>};
  static const std::vector<UnaryRow> kUnaryTable = {
      {exp_op, {kHas<F::kExp>}, 0, kOfExponential, true, direct<&Symbols::exp>},
      {log_op, {kHas<F::kLog>}, 0, 2, true, direct<&Symbols::log>},
      {sqrt_op, {kHas<F::kSqrt>}, 0, 1, false, direct<&Symbols::sqrt>},
      {relu_op, {kHas<F::kRelu>}, 0, 1, false, relu},
      {tanh_op, {kHas<F::kTanh>}, 0, 1, false, direct<&Symbols::tanh>},
      {sigmoid_op, {kHas<F::kSigmoid>}, 0, 2, true, direct<&Symbols::sigmoid>},
      {silu_op, {kHas<F::kSigmoid>, kHas<F::kMul>}, 1, 2, true, silu},
      {gelu_op, kGelu, 2, 4, true, gelu},
      // Its approximation by tanh: at most 5e-4 apart, half of the rounding of DLFLOAT16 near 1.
      {gelu_erf_op, kGelu, 2, 4, true, gelu},
      {gelu_quick_op, kGelu, 2, 4, true, gelu_quick},
      {sqr_op, {kHas<F::kMul>}, 0, 2, true, square},
      {neg_op, {kHas<F::kBatchnorm>}, 0, 1, false, negate},
  };
  return kUnaryTable;
}

class UnaryKernel final : public ZdnnKernel {
 public:
  explicit UnaryKernel(const UnaryRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  std::span<const Need> needs(const NodeView&) const override { return row_.needs; }
  std::vector<Dims> temporaries(const KernelUse& use) const override {
    return std::vector<Dims>(row_.temporaries, max_dims(use.view.result()));
  }
  void run(Launch& l) const override { (void)row_.run(l, *l.sources[0].stick, *l.result); }
  double roundings(const NodeView&, const Machine&) const override { return row_.roundings; }
  bool vanishes() const override { return row_.vanishes; }

 private:
  const UnaryRow& row_;
};

}  // namespace

const UnaryRow& unary_row(const Op& op) {
  return *std::ranges::find_if(unary_rows(), [&](const UnaryRow& row) { return &row.op() == &op; });
}

KernelList unary_kernels() {
  static const KernelRows<UnaryKernel, ZdnnKernel> kKernels(unary_rows());
  return kKernels.list();
}

}  // namespace shunt::zdnn
