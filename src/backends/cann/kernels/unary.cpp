#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backend_support/error_share.h"
#include "backend_support/kernel_rows.h"
#include "backends/cann/formula.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/elementwise.h"
#include "shunt/ops/unary.h"

namespace shunt::cann {

namespace {

/// Of xielu, whose two terms cancel below 0.
constexpr double kCancellation = 1e-13;

/// Computes y, which may have the memory of x, with its last call.
using Compose = void (*)(Calls& calls, const View& x, const View& y, const NodeView& node);

void compose_clamp(Calls& calls, const View& x, const View& y, const NodeView& node) {
  const auto& params = node.params<ClampParams>();
  Formula(calls).between(x, params.low, params.high, y);
}

void compose_elu(Calls& calls, const View& x, const View& y, const NodeView&) {
  calls(kElu, x, 1.0F, 1.0F, 1.0F, y);
}

// The vendor's GELU gives zeros far below 0, where 1 + tanh and 1 + erf cancel. Results there are
// small, and not zero.

/// x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), since (1 + tanh(u)) / 2 is sigmoid(2 u).
void compose_gelu(Calls& calls, const View& x, const View& y, const NodeView&) {
  constexpr double kFactor = 1.5957691216057308;  // 2 sqrt(2 / pi)
  Formula formula(calls);
  const View slope =
      formula.plus(formula.times(formula.mul(x, x), static_cast<float>(0.044715 * kFactor)),
                   static_cast<float>(kFactor));
  formula.mul(x, formula.apply(kSigmoid, formula.mul(slope, x)), y);
}

/// max(x, 0) - a P(-a), where a = |x|, and P is the normal distribution. P(-a) exp(a^2 / 2) / t is
/// a polynomial of t = 1 / (1 + 0.3 a), whose coefficients are fitted for a from 0 to 14. It is off
/// by 1.5e-7 at most.
void compose_gelu_erf(Calls& calls, const View& x, const View& y, const NodeView&) {
  constexpr std::array kCoefficients = {0.035675414F, -0.15720567F, 0.20635776F, -0.053687344F,
                                        0.128563452F, 0.09991298F,  0.12075403F, 0.11962929F};
  constexpr float kEnd = 15;  // P(-15) is 0 in F32
  Formula formula(calls);
  const View a = formula.apply(kAbs, formula.between(x, -kEnd, kEnd));
  const View t = formula.apply(kReciprocal, formula.plus(formula.times(a, 0.3F), 1));
  const View sum = formula.times(t, kCoefficients[0]);
  for (std::size_t i = 1; i < kCoefficients.size(); ++i)
    formula.mul(formula.plus(sum, kCoefficients[i], sum), t, sum);
  // exp(-a^2 / 2) of two factors: the first square has no rounding error.
  const View whole = formula.times(formula.apply(kFloor, formula.times(a, 32)), 1.0F / 32);
  const View rest = formula.mul(formula.sub(a, whole), formula.add(a, whole));
  const View power = formula.apply(kExp, formula.times(formula.mul(whole, whole), -0.5F));
  const View correction = formula.apply(kExp, formula.times(rest, -0.5F));
  formula.mul(formula.mul(sum, power, sum), correction, sum);
  formula.sub(formula.apply(kRelu, x), formula.mul(sum, a, sum), y);
}

void compose_gelu_quick(Calls& calls, const View& x, const View& y, const NodeView&) {
  Formula formula(calls);
  const View gate = formula.apply(kSigmoid, formula.times(x, 1.702F));
  formula.mul(x, gate, y);
}

void compose_leaky_relu(Calls& calls, const View& x, const View& y, const NodeView& node) {
  calls(kLeakyRelu, x, node.params<LeakyReluParams>().slope, y);
}

/// The vendor rounds to even numbers: this adds twice the fraction, without its own fraction, to
/// the whole number.
void compose_round(Calls& calls, const View& x, const View& y, const NodeView&) {
  constexpr float kWithoutFractions = 0x1p24F;
  Formula formula(calls);
  const View bounded = formula.between(x, -kWithoutFractions, kWithoutFractions);
  const View fraction = formula.sub(bounded, formula.apply(kTrunc, bounded));
  const View step = formula.apply(kTrunc, formula.times(fraction, 2));
  formula.add(formula.apply(kTrunc, x), step, y);
}

void compose_scale(Calls& calls, const View& x, const View& y, const NodeView& node) {
  const auto& params = node.params<ScaleParams>();
  Formula formula(calls);
  if (params.bias == 0) {
    formula.times(x, params.scale, y);
  } else {
    formula.plus(formula.times(x, params.scale), params.bias, y);
  }
}

/// max(x, 0) + ln(1 + exp(-|x|))
void compose_softplus(Calls& calls, const View& x, const View& y, const NodeView&) {
  Formula formula(calls);
  const View power = formula.apply(kExp, formula.times(formula.apply(kAbs, x), -1));
  const View rest = formula.apply(kLog1p, power);
  formula.add(formula.apply(kRelu, x), rest, y);
}

void compose_sqr(Calls& calls, const View& x, const View& y, const NodeView&) {
  calls(kMul, x, x, y);
}

void compose_step(Calls& calls, const View& x, const View& y, const NodeView&) {
  calls(kGtScalar, x, 0.0F, y);
}

void compose_xielu(Calls& calls, const View& x, const View& y, const NodeView& node) {
  const auto& params = node.params<XieluParams>();
  const auto softplus = [](double alpha) {
    return std::max(alpha, 0.0) + std::log1p(std::exp(-std::abs(alpha)));
  };
  const auto right = static_cast<float>(softplus(params.alpha_p));
  const auto left = static_cast<float>(double{params.beta} + softplus(params.alpha_n));
  Formula formula(calls);
  const View positive = formula.apply(kRelu, x);
  const View square = formula.times(formula.mul(positive, positive), right);
  const View others = formula.sub(x, positive);
  const View power = formula.apply(
      kExpm1,
      formula.between(others, -std::numeric_limits<float>::infinity(), std::min(params.eps, 0.0F)));
  const View curve = formula.times(formula.sub(power, others), left);
  const View is_other = calls.temporary(DataType::kFloat, x.sizes());
  calls(kLeScalar, x, 0.0F, is_other);
  const View curves = formula.add(square, formula.mul(curve, is_other));
  formula.add_times(curves, x, params.beta, y);
}

struct UnaryRow {
  const Op& (*op)();
  const VendorOp<In, Out>* plain = nullptr;  ///< the operator that computes it
  Compose compose = nullptr;                 ///< else its operators
  bool exact = false;                        ///< rounds nothing, thus right in every type
  double error = 0;                          ///< of many elements, beyond that of the op's cases
};
constexpr bool kExact = true;
constexpr std::array kUnaryRows = {
    UnaryRow{abs_op, &kAbs, nullptr, kExact},
    UnaryRow{ceil_op, &kCeil, nullptr, kExact},
    UnaryRow{clamp_op, nullptr, compose_clamp, kExact},
    UnaryRow{cos_op, &kCos},
    UnaryRow{elu_op, nullptr, compose_elu},
    UnaryRow{exp_op, &kExp},
    UnaryRow{expm1_op, &kExpm1},
    UnaryRow{floor_op, &kFloor, nullptr, kExact},
    UnaryRow{gelu_op, nullptr, compose_gelu},
    UnaryRow{gelu_erf_op, nullptr, compose_gelu_erf},
    UnaryRow{gelu_quick_op, nullptr, compose_gelu_quick},
    UnaryRow{hardsigmoid_op, &kHardsigmoid},
    UnaryRow{hardswish_op, &kHardswish},
    UnaryRow{leaky_relu_op, nullptr, compose_leaky_relu},
    UnaryRow{log_op, &kLog},
    UnaryRow{neg_op, &kNeg, nullptr, kExact},
    UnaryRow{relu_op, &kRelu, nullptr, kExact},
    UnaryRow{round_op, nullptr, compose_round},
    UnaryRow{scale_op, nullptr, compose_scale},
    UnaryRow{sgn_op, &kSign, nullptr, kExact},
    UnaryRow{sigmoid_op, &kSigmoid},
    UnaryRow{silu_op, &kSilu},
    UnaryRow{sin_op, &kSin},
    UnaryRow{softplus_op, nullptr, compose_softplus},
    UnaryRow{sqr_op, nullptr, compose_sqr},
    UnaryRow{sqrt_op, &kSqrt},
    UnaryRow{step_op, nullptr, compose_step, kExact},
    UnaryRow{tanh_op, &kTanh},
    UnaryRow{trunc_op, &kTrunc, nullptr, kExact},
    UnaryRow{xielu_op, nullptr, compose_xielu, false, kCancellation},
};

class Unary final : public CannKernel {
 public:
  explicit Unary(const UnaryRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  int in_place_source() const override { return 0; }
  double rounding_error(const NodeView& view, const CannTarget&) const override {
    return row_.error * error_share(view.result());
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto of = [&](const View& x, const View& y) {
      if (row_.plain != nullptr) {
        calls(*row_.plain, x, y);
      } else {
        row_.compose(calls, x, y, node.view());
      }
    };
    const View x = node.source(0);
    if (row_.exact) return of(x, node.result());
    fill_f32(calls, node.result(), [&](const View& y) { of(as_f32(calls, x), y); });
  }

 private:
  const UnaryRow& row_;
};

}  // namespace

KernelList unary_kernels() {
  static const KernelRows<Unary, CannKernel> kKernels(kUnaryRows);
  return kKernels.list();
}

}  // namespace shunt::cann
