#include <algorithm>
#include <cmath>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/unary/unary.h"

namespace shunt {

namespace {

double softplus(double x) {
  return std::log1p(std::exp(x));
}

class Xielu final : public Differentiable<XieluParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "xielu",
        .family = "unary",
        .summary =
            "Expanded integral of the exponential linear unit, of each element: y = "
            "softplus(alpha_p) * x^2 + beta * x if x > 0, else (beta + softplus(alpha_n)) * "
            "(exp(min(x, eps)) - 1 - x) + beta * x, where softplus(a) = ln(1 + exp(a)).",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const XieluParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_finite("alpha_n", params.alpha_n));
    SHUNT_TRY(expect_finite("alpha_p", params.alpha_p));
    SHUNT_TRY(expect_finite("beta", params.beta));
    SHUNT_TRY(expect_finite("eps", params.eps));
    return contiguous(x.dtype, x.shape);
  }

  void plain_reference(RefSources sources, const XieluParams& params,
                       RefTensor& result) const override {
    const double alpha_p = softplus(params.alpha_p);
    const double alpha_n = params.beta + softplus(params.alpha_n);
    for_each_element(result.sizes, [&](const Sizes& i) {
      const double x = at(*sources[0], i);
      const double curve =
          x > 0 ? alpha_p * x * x : alpha_n * (std::expm1(std::min(x, double{params.eps})) - x);
      at(result, i) = curve + params.beta * x;
    });
  }

  Status gradient_rule(Backward& node, const XieluParams& params) const override {
    GraphBuilder& g = node.g;
    const Result<Value> x = as_f32(g, node.source(0));
    const auto alpha_p = static_cast<float>(softplus(params.alpha_p));
    const auto alpha_n = static_cast<float>(params.beta + softplus(params.alpha_n));
    // 2 alpha_p max(x, 0) + beta, and where x is not above 0, alpha_n (exp(x) - 1); but -alpha_n
    // from eps on, where the exponential stays as it is.
    const Result<Value> right = scale(g, relu(g, x), {.scale = 2 * alpha_p, .bias = params.beta});
    const Result<Value> bounded =
        clamp(g, x, {-std::numeric_limits<float>::infinity(), params.eps});
    const Result<Value> rise = mul(g, exp(g, bounded), is_below(g, x, params.eps));
    const Result<Value> left = scale(g, rise, {.scale = alpha_n, .bias = -alpha_n});
    const Result<Value> not_above = scale(g, step(g, x), {.scale = -1, .bias = 1});
    const Result<Value> slope = add(g, right, mul(g, left, not_above));
    return node.add_gradient(0, mul(g, node.dy(), slope));
  }
};

}  // namespace

const Op& xielu_op() {
  static const Xielu kOp;
  return kOp;
}

Result<Value> xielu(GraphBuilder& g, Operand x, XieluParams params) {
  return g.apply(xielu_op(), Params::of(params), {&x});
}

}  // namespace shunt
