#include "ops/unary/unary_back.h"

#include <cmath>
#include <numbers>

#include "ops/common/backward.h"
#include "ops/elementwise/elementwise.h"
#include "ops/unary/unary.h"

namespace shunt {

namespace {

/// Of y = x * s(v), where s is the sigmoid and v is a function of x, of which x_dv is x * v'(x):
/// the slope is s + s * (1 - s) * x * v'.
Result<Value> sigmoid_unit_back(GraphBuilder& g, Operand dy, Operand v, Operand x_dv) {
  const Result<Value> s = sigmoid(g, v);
  const Result<Value> ds = mul(g, s, scale(g, s, {.scale = -1, .bias = 1}));
  return mul(g, dy, add(g, s, mul(g, ds, x_dv)));
}

}  // namespace

Result<Value> relu_back(GraphBuilder& g, Operand dy, Operand x) {
  return mul(g, dy, step(g, x));
}

Result<Value> gelu_back(GraphBuilder& g, Operand dy, Operand x) {
  // (1 + tanh(u)) / 2 is the sigmoid of 2u = c * x + d * x^3.
  const double c = 2 * std::sqrt(2 / std::numbers::pi);
  const double d = 0.044715 * c;
  const auto x_times = [&](double constant, double by_square) {
    const ScaleParams factor = {static_cast<float>(by_square), static_cast<float>(constant)};
    return mul(g, x, scale(g, sqr(g, x), factor));
  };
  return sigmoid_unit_back(g, dy, x_times(c, d), x_times(c, 3 * d));
}

Result<Value> gelu_quick_back(GraphBuilder& g, Operand dy, Operand x) {
  const Result<Value> v = scale(g, x, {.scale = 1.702F});
  return sigmoid_unit_back(g, dy, v, v);
}

/// Phi(x) + x * phi(x), the normal distribution and its density. Phi(x) = gelu_erf(x) / x, taken
/// slightly next to x where that is 0: Phi is as good as a constant there.
Result<Value> gelu_erf_back(GraphBuilder& g, Operand dy, Operand x) {
  constexpr float kNear = 1e-10F;
  const Result<Value> far = is_above(g, abs(g, x), kNear);
  const Result<Value> beside = add(g, x, scale(g, far, {.scale = -2 * kNear, .bias = 2 * kNear}));
  const Result<Value> below = div(g, gelu_erf(g, beside), beside);
  const auto peak = static_cast<float>(1 / std::sqrt(2 * std::numbers::pi));
  const Result<Value> density =
      scale(g, exp(g, scale(g, sqr(g, x), {.scale = -0.5F})), {.scale = peak});
  return mul(g, dy, add(g, below, mul(g, x, density)));
}

Result<Value> is_sloped(GraphBuilder& g, Operand x) {
  return mul(g, is_above(g, x, -3), is_below(g, x, 3));
}

}  // namespace shunt
