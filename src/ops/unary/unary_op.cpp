#include "ops/unary/unary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/lookup.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/training/training.h"
#include "ops/unary/unary_back.h"

namespace shunt {

namespace {

/// dx of a loss, from dy. No function: the result does not change with x, but for jumps.
struct Back {
  Result<Value> (*f)(GraphBuilder& g, Operand dy, Operand z) = nullptr;
  bool of_result = false;  ///< z is y, not x
};

struct Row {
  std::string_view name;
  std::string_view summary;
  double (*f)(double x);
  Back back = {};
};

constexpr std::array kRows = {
    Row{"abs",
        "Magnitude of each element: y = |x|.",
        [](double x) { return std::abs(x); },
        {[](GraphBuilder& g, Operand dy, Operand x) { return mul(g, dy, sgn(g, x)); }}},
    Row{"ceil", "Next integer that is not below each element: y = ceil(x).",
        [](double x) { return std::ceil(x); }},
    Row{"cos",
        "Cosine of each element: y = cos(x), x in radians.",
        [](double x) { return std::cos(x); },
        {[](GraphBuilder& g, Operand dy, Operand x) { return neg(g, mul(g, dy, sin(g, x))); }}},
    Row{"elu",
        "Exponential linear unit of each element: y = x if x > 0, else exp(x) - 1.",
        [](double x) { return x > 0 ? x : std::expm1(x); },
        {[](GraphBuilder& g, Operand dy, Operand x) {
          return mul(g, dy, exp(g, clamp(g, x, {-std::numeric_limits<float>::infinity(), 0})));
        }}},
    Row{"exp",
        "Exponential of each element: y = exp(x).",
        [](double x) { return std::exp(x); },
        {[](GraphBuilder& g, Operand dy, Operand y) { return mul(g, dy, y); }, true}},
    Row{"expm1",
        "Exponential of each element less one, exact where x is small: y = exp(x) - 1.",
        [](double x) { return std::expm1(x); },
        {[](GraphBuilder& g, Operand dy, Operand x) { return mul(g, dy, exp(g, x)); }}},
    Row{"floor", "Next integer that is not above each element: y = floor(x).",
        [](double x) { return std::floor(x); }},
    Row{"gelu",
        "Gaussian error linear unit of each element, by its approximation with tanh: y = x * (1 + "
        "tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2.",
        [](double x) {
          const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
          // 1 + tanh u, which would have lost all digits where u is far below 0.
          return x * (2 / (1 + std::exp(-2 * u))) / 2;
        },
        {gelu_back}},
    Row{"gelu_erf",
        "Gaussian error linear unit of each element: y = x * (1 + erf(x / sqrt(2))) / 2.",
        [](double x) {
          // erfc, as 1 + erf has lost all digits where x is far below 0.
          return x * std::erfc(-x / std::numbers::sqrt2) / 2;
        },
        {gelu_erf_back}},
    Row{"gelu_quick",
        "Gaussian error linear unit of each element, by its approximation with a sigmoid: y = x / "
        "(1 + exp(-1.702 * x)).",
        [](double x) { return x / (1 + std::exp(-1.702 * x)); },
        {gelu_quick_back}},
    Row{"hardsigmoid",
        "Sigmoid of each element, by three straight lines: y = min(max(x + 3, 0), 6) / 6.",
        [](double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; },
        {[](GraphBuilder& g, Operand dy, Operand x) {
          return scale(g, mul(g, dy, is_sloped(g, x)), {.scale = 1.0F / 6});
        }}},
    Row{"hardswish",
        "Sigmoid linear unit of each element, by parts: y = x * min(max(x + 3, 0), 6) / 6.",
        [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; },
        {[](GraphBuilder& g, Operand dy, Operand x) {
          const Result<Value> rise = scale(g, mul(g, x, is_sloped(g, x)), {.scale = 1.0F / 6});
          return mul(g, dy, add(g, hardsigmoid(g, x), rise));
        }}},
    Row{"log",
        "Natural logarithm of each element: y = ln(x).",
        [](double x) { return std::log(x); },
        {[](GraphBuilder& g, Operand dy, Operand x) { return div(g, dy, x); }}},
    Row{"neg",
        "Negative of each element: y = -x.",
        [](double x) { return -x; },
        {[](GraphBuilder& g, Operand dy, Operand) { return neg(g, dy); }}},
    Row{"relu",
        "Rectified linear unit of each element: y = max(x, 0).",
        [](double x) { return std::max(x, 0.0); },
        {relu_back}},
    Row{"round",
        "Integer nearest to each element, the one away from 0 if there are two: y = round(x).",
        [](double x) { return std::round(x); }},
    Row{"sgn", "Sign of each element: y = 1 if x > 0, -1 if x < 0, else 0.",
        [](double x) { return static_cast<double>(x > 0) - static_cast<double>(x < 0); }},
    Row{"sigmoid",
        "Sigmoid of each element: y = 1 / (1 + exp(-x)).",
        [](double x) { return 1 / (1 + std::exp(-x)); },
        {[](GraphBuilder& g, Operand dy, Operand y) {
           return mul(g, dy, mul(g, y, scale(g, y, {.scale = -1, .bias = 1})));
         },
         true}},
    Row{"silu",
        "Sigmoid linear unit of each element: y = x / (1 + exp(-x)).",
        [](double x) { return x / (1 + std::exp(-x)); },
        {silu_back}},
    Row{"sin",
        "Sine of each element: y = sin(x), x in radians.",
        [](double x) { return std::sin(x); },
        {[](GraphBuilder& g, Operand dy, Operand x) { return mul(g, dy, cos(g, x)); }}},
    Row{"softplus",
        "Smooth form of relu, of each element: y = ln(1 + exp(x)).",
        [](double x) {
          // Without exp(x) where that is large.
          return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
        },
        {[](GraphBuilder& g, Operand dy, Operand x) { return mul(g, dy, sigmoid(g, x)); }}},
    Row{"sqr",
        "Square of each element: y = x * x.",
        [](double x) { return x * x; },
        {[](GraphBuilder& g, Operand dy, Operand x) {
          return mul(g, dy, scale(g, x, {.scale = 2}));
        }}},
    Row{"sqrt",
        "Square root of each element: y = sqrt(x).",
        [](double x) { return std::sqrt(x); },
        {[](GraphBuilder& g, Operand dy, Operand y) {
           return div(g, dy, scale(g, y, {.scale = 2}));
         },
         true}},
    Row{"step", "Unit step of each element: y = 1 if x > 0, else 0.",
        [](double x) { return x > 0 ? 1.0 : 0.0; }},
    Row{"tanh",
        "Hyperbolic tangent of each element: y = tanh(x).",
        [](double x) { return std::tanh(x); },
        {[](GraphBuilder& g, Operand dy, Operand y) {
           return mul(g, dy, scale(g, sqr(g, y), {.scale = -1, .bias = 1}));
         },
         true}},
    Row{"trunc", "Integer part of each element: y = x without its fraction.",
        [](double x) { return std::trunc(x); }},
};

Result<Value> apply(GraphBuilder& g, const Op& op, Operand x) {
  return g.apply(op, Params::of(NoParams{}), {&x});
}

class Unary final : public Differentiable<NoParams> {
 public:
  explicit Unary(const Row& row)
      : row_(row),
        info_{.name = row.name, .family = "unary", .summary = row.summary, .sources = {"x"}} {}

  const OpInfo& info() const override { return info_; }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    return contiguous(x.dtype, x.shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    for_each_element(result.sizes,
                     [&](const Sizes& i) { at(result, i) = row_.f(at(*sources[0], i)); });
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    if (row_.back.f == nullptr) return node.add_zero_gradient(0);
    const Value z = row_.back.of_result ? node.y() : node.source(0);
    return node.add_gradient(0, row_.back.f(node.g, node.dy(), as_f32(node.g, z)));
  }

 private:
  const Row& row_;
  OpInfo info_;
};

template <std::size_t I>
const Op& row_op() {
  static const Unary kOp(kRows[I]);
  return kOp;
}

}  // namespace

const Op& abs_op() {
  return row_op<row_named(kRows, "abs")>();
}
Result<Value> abs(GraphBuilder& g, Operand x) {
  return apply(g, abs_op(), x);
}

const Op& ceil_op() {
  return row_op<row_named(kRows, "ceil")>();
}
Result<Value> ceil(GraphBuilder& g, Operand x) {
  return apply(g, ceil_op(), x);
}

const Op& cos_op() {
  return row_op<row_named(kRows, "cos")>();
}
Result<Value> cos(GraphBuilder& g, Operand x) {
  return apply(g, cos_op(), x);
}

const Op& elu_op() {
  return row_op<row_named(kRows, "elu")>();
}
Result<Value> elu(GraphBuilder& g, Operand x) {
  return apply(g, elu_op(), x);
}

const Op& exp_op() {
  return row_op<row_named(kRows, "exp")>();
}
Result<Value> exp(GraphBuilder& g, Operand x) {
  return apply(g, exp_op(), x);
}

const Op& expm1_op() {
  return row_op<row_named(kRows, "expm1")>();
}
Result<Value> expm1(GraphBuilder& g, Operand x) {
  return apply(g, expm1_op(), x);
}

const Op& floor_op() {
  return row_op<row_named(kRows, "floor")>();
}
Result<Value> floor(GraphBuilder& g, Operand x) {
  return apply(g, floor_op(), x);
}

const Op& gelu_op() {
  return row_op<row_named(kRows, "gelu")>();
}
Result<Value> gelu(GraphBuilder& g, Operand x) {
  return apply(g, gelu_op(), x);
}

const Op& gelu_erf_op() {
  return row_op<row_named(kRows, "gelu_erf")>();
}
Result<Value> gelu_erf(GraphBuilder& g, Operand x) {
  return apply(g, gelu_erf_op(), x);
}

const Op& gelu_quick_op() {
  return row_op<row_named(kRows, "gelu_quick")>();
}
Result<Value> gelu_quick(GraphBuilder& g, Operand x) {
  return apply(g, gelu_quick_op(), x);
}

const Op& hardsigmoid_op() {
  return row_op<row_named(kRows, "hardsigmoid")>();
}
Result<Value> hardsigmoid(GraphBuilder& g, Operand x) {
  return apply(g, hardsigmoid_op(), x);
}

const Op& hardswish_op() {
  return row_op<row_named(kRows, "hardswish")>();
}
Result<Value> hardswish(GraphBuilder& g, Operand x) {
  return apply(g, hardswish_op(), x);
}

const Op& log_op() {
  return row_op<row_named(kRows, "log")>();
}
Result<Value> log(GraphBuilder& g, Operand x) {
  return apply(g, log_op(), x);
}

const Op& neg_op() {
  return row_op<row_named(kRows, "neg")>();
}
Result<Value> neg(GraphBuilder& g, Operand x) {
  return apply(g, neg_op(), x);
}

const Op& relu_op() {
  return row_op<row_named(kRows, "relu")>();
}
Result<Value> relu(GraphBuilder& g, Operand x) {
  return apply(g, relu_op(), x);
}

const Op& round_op() {
  return row_op<row_named(kRows, "round")>();
}
Result<Value> round(GraphBuilder& g, Operand x) {
  return apply(g, round_op(), x);
}

const Op& sgn_op() {
  return row_op<row_named(kRows, "sgn")>();
}
Result<Value> sgn(GraphBuilder& g, Operand x) {
  return apply(g, sgn_op(), x);
}

const Op& sigmoid_op() {
  return row_op<row_named(kRows, "sigmoid")>();
}
Result<Value> sigmoid(GraphBuilder& g, Operand x) {
  return apply(g, sigmoid_op(), x);
}

const Op& silu_op() {
  return row_op<row_named(kRows, "silu")>();
}
Result<Value> silu(GraphBuilder& g, Operand x) {
  return apply(g, silu_op(), x);
}

const Op& sin_op() {
  return row_op<row_named(kRows, "sin")>();
}
Result<Value> sin(GraphBuilder& g, Operand x) {
  return apply(g, sin_op(), x);
}

const Op& softplus_op() {
  return row_op<row_named(kRows, "softplus")>();
}
Result<Value> softplus(GraphBuilder& g, Operand x) {
  return apply(g, softplus_op(), x);
}

const Op& sqr_op() {
  return row_op<row_named(kRows, "sqr")>();
}
Result<Value> sqr(GraphBuilder& g, Operand x) {
  return apply(g, sqr_op(), x);
}

const Op& sqrt_op() {
  return row_op<row_named(kRows, "sqrt")>();
}
Result<Value> sqrt(GraphBuilder& g, Operand x) {
  return apply(g, sqrt_op(), x);
}

const Op& step_op() {
  return row_op<row_named(kRows, "step")>();
}
Result<Value> step(GraphBuilder& g, Operand x) {
  return apply(g, step_op(), x);
}

const Op& tanh_op() {
  return row_op<row_named(kRows, "tanh")>();
}
Result<Value> tanh(GraphBuilder& g, Operand x) {
  return apply(g, tanh_op(), x);
}

const Op& trunc_op() {
  return row_op<row_named(kRows, "trunc")>();
}
Result<Value> trunc(GraphBuilder& g, Operand x) {
  return apply(g, trunc_op(), x);
}

}  // namespace shunt
