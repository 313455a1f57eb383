#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/activation/activation.h"
#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/lookup.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "ops/elementwise/elementwise.h"
#include "ops/training/training.h"
#include "ops/unary/unary.h"
#include "ops/unary/unary_back.h"
#include "ops/view/view.h"

namespace shunt {

namespace {

struct Halves {
  Result<Value> gate;
  Result<Value> up;
};

template <class P>
struct Row {
  std::string_view name;
  std::string_view summary;
  double (*f)(double gate, double up, const P& params);
  /// The gradients by gate and up, which are F32, from that by y.
  Halves (*back)(GraphBuilder& g, Operand dy, Operand gate, Operand up, const P& params);
};

/// Of y = f(gate) * up.
template <auto kFunction, auto kBack>
Halves product_back(GraphBuilder& g, Operand dy, Operand gate, Operand up, const GatedParams&) {
  return {kBack(g, mul(g, dy, up), gate), mul(g, dy, kFunction(g, gate))};
}

Halves oai_back(GraphBuilder& g, Operand dy, Operand gate, Operand up,
                const SwigluOaiParams& params) {
  const float limit = params.limit;
  const Result<Value> c = clamp(g, gate, {-std::numeric_limits<float>::infinity(), limit});
  const Result<Value> u = clamp(g, up, {-limit, limit});
  const Result<Value> s = sigmoid(g, scale(g, c, {.scale = params.alpha}));
  const Result<Value> opened = mul(g, c, s);
  // Of c * s by c: s + alpha * c * s * (1 - s).
  const Result<Value> bent =
      mul(g, opened, scale(g, s, {.scale = -params.alpha, .bias = params.alpha}));
  const Result<Value> by_c = mul(g, mul(g, dy, scale(g, u, {.bias = 1})), add(g, s, bent));
  const Result<Value> by_u = mul(g, dy, opened);
  const Result<Value> inside = mul(g, is_above(g, up, -limit), is_below(g, up, limit));
  return {mul(g, by_c, is_below(g, gate, limit)), mul(g, by_u, inside)};
}

constexpr std::array kRows = {
    Row<GatedParams>{"geglu",
                     "Gated unit, element by element: y = gelu(gate) * up, with gelu(x) = x * (1 + "
                     "tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2. Without up, gate and up are "
                     "the two halves of each row.",
                     [](double gate, double up, const GatedParams&) {
                       const double u =
                           std::sqrt(2 / std::numbers::pi) * (gate + 0.044715 * gate * gate * gate);
                       // 1 + tanh u, which would have lost all digits where u is far below 0.
                       return gate * (2 / (1 + std::exp(-2 * u))) / 2 * up;
                     },
                     product_back<gelu, gelu_back>},
    Row<GatedParams>{"geglu_erf",
                     "Gated unit, element by element: y = gate * (1 + erf(gate / sqrt(2))) / 2 * "
                     "up. Without up, gate and up are the two halves of each row.",
                     [](double gate, double up, const GatedParams&) {
                       // erfc, as 1 + erf has lost all digits where x is far below 0.
                       return gate * std::erfc(-gate / std::numbers::sqrt2) / 2 * up;
                     },
                     product_back<gelu_erf, gelu_erf_back>},
    Row<GatedParams>{"geglu_quick",
                     "Gated unit, element by element: y = gate / (1 + exp(-1.702 * gate)) * up. "
                     "Without up, gate and up are the two halves of each row.",
                     [](double gate, double up, const GatedParams&) {
                       return gate / (1 + std::exp(-1.702 * gate)) * up;
                     },
                     product_back<gelu_quick, gelu_quick_back>},
    Row<GatedParams>{
        "reglu",
        "Gated unit, element by element: y = max(gate, 0) * up. Without up, gate and "
        "up are the two halves of each row.",
        [](double gate, double up, const GatedParams&) { return std::max(gate, 0.0) * up; },
        product_back<relu, relu_back>},
    Row<GatedParams>{"swiglu",
                     "Gated unit, element by element: y = silu(gate) * up = gate / (1 + "
                     "exp(-gate)) * up. Without up, gate and up are the two halves of each row.",
                     [](double gate, double up, const GatedParams&) {
                       return gate / (1 + std::exp(-gate)) * up;
                     },
                     product_back<silu, silu_back>},
};

constexpr Row<SwigluOaiParams> kOai = {
    "swiglu_oai",
    "Gated unit of gpt-oss, element by element: y = c / (1 + exp(-alpha * c)) * (u + 1), where c = "
    "min(gate, limit) and u = min(max(up, -limit), limit). Without up, gate and up are the two "
    "halves of each row.",
    [](double gate, double up, const SwigluOaiParams& params) {
      const double limit = params.limit;
      const double c = std::min(gate, limit);
      const double u = std::clamp(up, -limit, limit);
      return c / (1 + std::exp(-params.alpha * c)) * (u + 1);
    },
    oai_back};

/// Checks the parameters themselves.
Status check(const GatedParams&) {
  return ok();
}
Status check(const SwigluOaiParams& params) {
  SHUNT_TRY(expect_finite("alpha", params.alpha));
  // A comparison with not-a-number is false.
  if (params.limit >= 0) return ok();
  return invalid("limit is {}, which is not a number of at least 0", params.limit);
}

/// Half of a row that divides(2, row) says yes to.
Dim half_of(const Dim& row) {
  if (row.is_fixed()) return row.max / 2;
  return {row.dynamic_dim, row.max / row.factor, row.factor / 2};
}

template <class P>
class Gated final : public Differentiable<P> {
 public:
  explicit Gated(const Row<P>& row)
      : row_(row),
        info_{.name = row.name,
              .family = "activation",
              .summary = row.summary,
              .sources = {"gate", "up?"}} {}

  const OpInfo& info() const override { return info_; }

  Result<Inferred> shape_rule(SourceTensors sources, const P& params) const override {
    const Tensor& gate = *sources[0];
    SHUNT_TRY(expect_float_type("gate", gate));
    SHUNT_TRY(check(params));
    if (sources[1] != nullptr) {
      const Tensor& up = *sources[1];
      if (params.gate != GateHalf::kFirst)
        return invalid("the gate is the second half of rows that hold both, but up is given");
      SHUNT_TRY(expect_float_type("up", up));
      SHUNT_TRY(expect_same_shape("gate", gate, "up", up));
      return contiguous(gate.dtype, gate.shape);
    }
    if (!divides(2, gate.shape[0])) {
      return invalid("up is not given, but the rows of gate, {}, have no two halves",
                     to_string(gate));
    }
    return contiguous(gate.dtype,
                      {half_of(gate.shape[0]), gate.shape[1], gate.shape[2], gate.shape[3]});
  }

  void plain_reference(RefSources sources, const P& params, RefTensor& result) const override {
    const RefTensor& gate = *sources[0];
    const std::int64_t n = result.sizes[0];
    const bool second = params.gate == GateHalf::kSecond;
    for_each_element(result.sizes, [&](const Sizes& i) {
      const Sizes j = {i[0] + n, i[1], i[2], i[3]};  // in the other half
      const double other = sources[1] != nullptr ? at(*sources[1], i) : at(gate, j);
      const double one = at(gate, i);
      at(result, i) = row_.f(second ? other : one, second ? one : other, params);
    });
  }

  Status gradient_rule(Backward& node, const P& params) const override {
    GraphBuilder& g = node.g;
    const Result<Value> one = as_f32(g, node.source(0));
    if (node.given(1)) {
      const Halves halves = row_.back(g, node.dy(), one, as_f32(g, node.source(1)), params);
      SHUNT_TRY(node.add_gradient(0, halves.gate));
      return node.add_gradient(1, halves.up);
    }
    const Shape half = node.tensor(node.y()).shape;
    SHUNT_TRY(expect_fixed_for(half[0], "half of a row"));
    const Result<Value> first = view(g, one, {}, half);
    const Result<Value> second = view(g, one, {half[0].max, 0, 0, 0}, half);
    const bool swapped = params.gate == GateHalf::kSecond;
    const Halves halves =
        row_.back(g, node.dy(), swapped ? second : first, swapped ? first : second, params);
    return node.add_gradient(
        0, swapped ? concat(g, halves.up, halves.gate, 0) : concat(g, halves.gate, halves.up, 0));
  }

 private:
  const Row<P>& row_;
  OpInfo info_;
};

template <std::size_t I>
const Op& row_op() {
  static const Gated<GatedParams> kOp(kRows[I]);
  return kOp;
}

template <class P>
Result<Value> split(GraphBuilder& g, const Op& op, Operand gate, Operand up, const P& params) {
  return g.apply(op, Params::of(params), {&gate, &up});
}

template <class P>
Result<Value> fused(GraphBuilder& g, const Op& op, Operand halves, const P& params) {
  const Result<Value> none = absent();
  return g.apply(op, Params::of(params), {&halves, &none});
}

}  // namespace

std::string_view to_string(GateHalf half) {
  return half == GateHalf::kFirst ? "first" : "second";
}

const Op& reglu_op() {
  return row_op<row_named(kRows, "reglu")>();
}
Result<Value> reglu(GraphBuilder& g, Operand gate, Operand up) {
  return split(g, reglu_op(), gate, up, GatedParams{});
}
Result<Value> reglu_fused(GraphBuilder& g, Operand halves, GatedParams params) {
  return fused(g, reglu_op(), halves, params);
}

const Op& geglu_op() {
  return row_op<row_named(kRows, "geglu")>();
}
Result<Value> geglu(GraphBuilder& g, Operand gate, Operand up) {
  return split(g, geglu_op(), gate, up, GatedParams{});
}
Result<Value> geglu_fused(GraphBuilder& g, Operand halves, GatedParams params) {
  return fused(g, geglu_op(), halves, params);
}

const Op& geglu_erf_op() {
  return row_op<row_named(kRows, "geglu_erf")>();
}
Result<Value> geglu_erf(GraphBuilder& g, Operand gate, Operand up) {
  return split(g, geglu_erf_op(), gate, up, GatedParams{});
}
Result<Value> geglu_erf_fused(GraphBuilder& g, Operand halves, GatedParams params) {
  return fused(g, geglu_erf_op(), halves, params);
}

const Op& geglu_quick_op() {
  return row_op<row_named(kRows, "geglu_quick")>();
}
Result<Value> geglu_quick(GraphBuilder& g, Operand gate, Operand up) {
  return split(g, geglu_quick_op(), gate, up, GatedParams{});
}
Result<Value> geglu_quick_fused(GraphBuilder& g, Operand halves, GatedParams params) {
  return fused(g, geglu_quick_op(), halves, params);
}

const Op& swiglu_op() {
  return row_op<row_named(kRows, "swiglu")>();
}
Result<Value> swiglu(GraphBuilder& g, Operand gate, Operand up) {
  return split(g, swiglu_op(), gate, up, GatedParams{});
}
Result<Value> swiglu_fused(GraphBuilder& g, Operand halves, GatedParams params) {
  return fused(g, swiglu_op(), halves, params);
}

const Op& swiglu_oai_op() {
  static const Gated<SwigluOaiParams> kOp(kOai);
  return kOp;
}
Result<Value> swiglu_oai(GraphBuilder& g, Operand gate, Operand up, SwigluOaiParams params) {
  return split(g, swiglu_oai_op(), gate, up, params);
}
Result<Value> swiglu_oai_fused(GraphBuilder& g, Operand halves, SwigluOaiParams params) {
  return fused(g, swiglu_oai_op(), halves, params);
}

}  // namespace shunt
