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
  const View u = formula.mul(x, x);
  formula.times(u, static_cast<float>(0.044715 * kFactor), u);
  formula.mul(formula.plus(u, static_cast<float>(kFactor), u), x, u);
  formula.mul(x, formula.apply(kSigmoid, u, u), y);
}

/// max(x, 0) - a P(-a), where a = |x|, and P is the normal distribution. P(-a) exp(a^2 / 2) / t is
/// a polynomial of t = 1 / (1 + 0.3 a), whose coefficients are fitted for a from 0 to 14. It is off
/// by 1.5e-7 at most.
void compose_gelu_erf(Calls& calls, const View& x, const View& y, const NodeView&) {
  constexpr std::array kCoefficients = {0.035675414F, -0.15720567F, 0.20635776F, -0.053687344F,
                                        0.128563452F, 0.09991298F,  0.12075403F, 0.11962929F};
  constexpr float kEnd = 15;  // P(-15) is 0 in F32
  Formula formula(calls);
  const View a = formula.between(x, -kEnd, kEnd);
  formula.apply(kAbs, a, a);
  const View t = formula.times(a, 0.3F);
  formula.apply(kReciprocal, formula.plus(t, 1, t), t);
  const View tail = formula.times(t, kCoefficients[0]);
  for (std::size_t i = 1; i < kCoefficients.size(); ++i)
    formula.mul(formula.plus(tail, kCoefficients[i], tail), t, tail);
  // exp(-a^2 / 2) of two factors: a^2 = w^2 + (a - w) (a + w), where w^2 has no rounding error.
  const View w = formula.times(formula.apply(kFloor, formula.times(a, 32, t), t), 1.0F / 32, t);
  const View rest = formula.sub(a, w);
  formula.mul(rest, formula.add(a, w), rest);
  for (const View& part : {rest, formula.mul(w, w, w)}) {
    formula.apply(kExp, formula.times(part, -0.5F, part), part);
    formula.mul(tail, part, tail);
  }
  formula.sub(formula.apply(kRelu, x, t), formula.mul(tail, a, tail), y);
}

void compose_gelu_quick(Calls& calls, const View& x, const View& y, const NodeView&) {
  Formula formula(calls);
  const View gate = formula.times(x, 1.702F);
  formula.mul(x, formula.apply(kSigmoid, gate, gate), y);
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
  const View part = formula.apply(kTrunc, bounded);
  formula.sub(bounded, part, part);
  formula.apply(kTrunc, formula.times(part, 2, part), part);
  formula.add(formula.apply(kTrunc, x, bounded), part, y);
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
  const View rest = formula.apply(kAbs, x);
  formula.apply(kExp, formula.times(rest, -1, rest), rest);
  formula.apply(kLog1p, rest, rest);
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
  const View others = formula.between(x, -std::numeric_limits<float>::infinity(), 0);
  formula.times(formula.mul(positive, positive, positive), right, positive);
  const View curve =
      formula.between(others, -std::numeric_limits<float>::infinity(), std::min(params.eps, 0.0F));
  formula.sub(formula.apply(kExpm1, curve, curve), others, curve);
  calls(kLeScalar, x, 0.0F, others);
  formula.mul(formula.times(curve, left, curve), others, curve);
  formula.add_times(formula.add(positive, curve, positive), x, params.beta, y);
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
