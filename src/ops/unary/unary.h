/// \file
/// Functions of each element. `x`: F32, F16 or BF16, any shape; the result has x's type and shape.
/// It is computed in F32 and rounded once. Not-a-number stays so, unless the function compares only
/// (sgn, step).
#pragma once

#include "shunt/graph.h"

namespace shunt {

/// y = |x|.
Result<Value> abs(GraphBuilder& g, Operand x);
const Op& abs_op();

/// y = the lowest integer that is not below x.
Result<Value> ceil(GraphBuilder& g, Operand x);
const Op& ceil_op();

/// y = cos(x), x in radians.
Result<Value> cos(GraphBuilder& g, Operand x);
const Op& cos_op();

/// y = x if x > 0, else exp(x) - 1.
Result<Value> elu(GraphBuilder& g, Operand x);
const Op& elu_op();

/// y = exp(x).
Result<Value> exp(GraphBuilder& g, Operand x);
const Op& exp_op();

/// y = exp(x) - 1, exact where x is small.
Result<Value> expm1(GraphBuilder& g, Operand x);
const Op& expm1_op();

/// y = the largest integer that is not above x.
Result<Value> floor(GraphBuilder& g, Operand x);
const Op& floor_op();

/// y = x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2.
Result<Value> gelu(GraphBuilder& g, Operand x);
const Op& gelu_op();

/// y = x * (1 + erf(x / sqrt(2))) / 2.
Result<Value> gelu_erf(GraphBuilder& g, Operand x);
const Op& gelu_erf_op();

/// y = x / (1 + exp(-1.702 * x)).
Result<Value> gelu_quick(GraphBuilder& g, Operand x);
const Op& gelu_quick_op();

/// y = min(max(x + 3, 0), 6) / 6.
Result<Value> hardsigmoid(GraphBuilder& g, Operand x);
const Op& hardsigmoid_op();

/// y = x * min(max(x + 3, 0), 6) / 6.
Result<Value> hardswish(GraphBuilder& g, Operand x);
const Op& hardswish_op();

/// y = ln(x): minus infinity at 0, not a number below.
Result<Value> log(GraphBuilder& g, Operand x);
const Op& log_op();

/// y = -x.
Result<Value> neg(GraphBuilder& g, Operand x);
const Op& neg_op();

/// y = max(x, 0).
Result<Value> relu(GraphBuilder& g, Operand x);
const Op& relu_op();

/// y = the integer nearest to x, the one away from 0 if there are two.
Result<Value> round(GraphBuilder& g, Operand x);
const Op& round_op();

/// y = 1 if x > 0, -1 if x < 0, else 0.
Result<Value> sgn(GraphBuilder& g, Operand x);
const Op& sgn_op();

/// y = 1 / (1 + exp(-x)).
Result<Value> sigmoid(GraphBuilder& g, Operand x);
const Op& sigmoid_op();

/// y = x / (1 + exp(-x)).
Result<Value> silu(GraphBuilder& g, Operand x);
const Op& silu_op();

/// y = sin(x), x in radians.
Result<Value> sin(GraphBuilder& g, Operand x);
const Op& sin_op();

/// y = ln(1 + exp(x)).
Result<Value> softplus(GraphBuilder& g, Operand x);
const Op& softplus_op();

/// y = x * x.
Result<Value> sqr(GraphBuilder& g, Operand x);
const Op& sqr_op();

/// y = the square root of x; not a number below 0.
Result<Value> sqrt(GraphBuilder& g, Operand x);
const Op& sqrt_op();

/// y = 1 if x > 0, else 0.
Result<Value> step(GraphBuilder& g, Operand x);
const Op& step_op();

/// y = tanh(x).
Result<Value> tanh(GraphBuilder& g, Operand x);
const Op& tanh_op();

/// y = x without its fraction.
Result<Value> trunc(GraphBuilder& g, Operand x);
const Op& trunc_op();

/// Parameters of leaky_relu().
struct LeakyReluParams {
  float slope = 0.01F;
  template <class F>
  void each(F f) const {
    f("slope", slope);
  }
};

/// y = x if x > 0, else slope * x. slope must be finite.
Result<Value> leaky_relu(GraphBuilder& g, Operand x, LeakyReluParams params = {});
const Op& leaky_relu_op();

/// xIELU (Huang and Schlag, "Deriving Activation Functions Using Integration", 2024). alpha_n and
/// alpha_p are as they are trained: before the softplus that keeps the slopes positive.
struct XieluParams {
  float alpha_n = 0;
  float alpha_p = 0;
  float beta = 0.5F;
  float eps = -1e-6F;
  template <class F>
  void each(F f) const {
    f("alpha_n", alpha_n);
    f("alpha_p", alpha_p);
    f("beta", beta);
    f("eps", eps);
  }
};

/// y = softplus(alpha_p) * x^2 + beta * x if x > 0, else (beta + softplus(alpha_n)) *
/// (exp(min(x, eps)) - 1 - x) + beta * x, where softplus(a) = ln(1 + exp(a)). All parameters must
/// be finite.
Result<Value> xielu(GraphBuilder& g, Operand x, XieluParams params);
const Op& xielu_op();

/// Parameters of clamp().
struct ClampParams {
  float low = 0;
  float high = 1;
  template <class F>
  void each(F f) const {
    f("low", low);
    f("high", high);
  }
};

/// y = min(max(x, low), high). Either bound may be infinite; low must not be above high.
Result<Value> clamp(GraphBuilder& g, Operand x, ClampParams params);
const Op& clamp_op();

}  // namespace shunt
