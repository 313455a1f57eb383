// Calls that elementwise ops, gated units and norms refuse.
#include <cmath>
#include <optional>

#include "graph/op.h"
#include "unit/ops/bad_calls.h"

namespace shunt {

std::vector<BadCall> elementwise_calls() {
  std::vector<BadCall> calls;
  for (const auto& [name, op] : {std::pair{"add", &add}, std::pair{"sub", &sub},
                                 std::pair{"mul", &mul}, std::pair{"div", &div}}) {
    calls.push_back({name,
                     [call = op](GraphBuilder& g) {
                       return call(g, leaf(g, kQ8_0, {32}), leaf(g, kF32, {32}));
                     },
                     {"Q8_0 [32]", "a is Q8_0 [32], not F32, F16 or BF16"}});
    calls.push_back(
        {name,
         [call = op](GraphBuilder& g) { return call(g, leaf(g, kF32, {4}), leaf(g, kI32, {4})); },
         {"b is I32 [4], not F32, F16 or BF16"}});
    calls.push_back(
        {name,
         [call = op](GraphBuilder& g) {
           return call(g, leaf(g, kF32, {4, 6}, "left"), leaf(g, kF32, {4, 4}, "right"));
         },
         {"left F32 [4, 6]", "right F32 [4, 4]", "dimension 1 of b is 4"}});
    calls.push_back(
        {name,
         [call = op](GraphBuilder& g) { return call(g, leaf(g, kF32, {4}), leaf(g, kF32, {0})); },
         {"dimension 0 of b is 0"}});
  }
  const auto bias = [](DType x, const Shape& xs, DType b, const Shape& bs, DType ids,
                       const Shape& is) {
    return [=](GraphBuilder& g) {
      return add_id(g, leaf(g, x, xs), leaf(g, b, bs), leaf(g, ids, is));
    };
  };
  const Shape columns = {4, 2, 3};
  for (const BadCall& bad : std::vector<BadCall>{
           {"add1",
            [](GraphBuilder& g) { return add1(g, leaf(g, kI32, {4}), leaf(g, kF32, {1})); },
            {"I32 [4], F32 [1]", "a is I32 [4], not F32, F16 or BF16"}},
           {"add1",
            [](GraphBuilder& g) { return add1(g, leaf(g, kF32, {4}), leaf(g, kI32, {1})); },
            {"s is I32 [1], not F32, F16 or BF16"}},
           {"add1",
            [](GraphBuilder& g) { return add1(g, leaf(g, kF32, {4}), leaf(g, kF32, {4})); },
            {"s is F32 [4], not a single number"}},
           {"add_id", bias(kQ8_0, {32, 2, 3}, kF32, {32, 5}, kI32, {2, 3}), {"x is Q8_0"}},
           {"add_id", bias(kF32, columns, kI32, {4, 5}, kI32, {2, 3}), {"b is I32 [4, 5], not"}},
           {"add_id",
            bias(kF32, columns, kF32, {4, 5}, kF32, {2, 3}),
            {"ids is F32 [2, 3], not I32 or I64"}},
           {"add_id",
            bias(kF32, {4, 2, 3, 2}, kF32, {4, 5}, kI32, {2, 3}),
            {"x is F32 [4, 2, 3, 2], which has more than 3 dimensions"}},
           {"add_id",
            bias(kF32, columns, kF32, {4, 5, 2}, kI32, {2, 3}),
            {"b is F32 [4, 5, 2], which has more than 2 dimensions"}},
           {"add_id",
            bias(kF32, columns, kF32, {4, 5}, kI32, {2, 3, 2}),
            {"ids is I32 [2, 3, 2], which has more than 2 dimensions"}},
           {"add_id",
            bias(kF32, columns, kF32, {1, 5}, kI32, {2, 3}),
            {"dimension 0 of b is 1, but dimension 0 of x is 4"}},
           {"add_id",
            bias(kF32, columns, kF32, {4, 5}, kI32, {1, 3}),
            {"dimension 0 of ids is 1, but dimension 1 of x is 2"}},
           {"add_id",
            bias(kF32, columns, kF32, {4, 5}, kI32, {2, 1}),
            {"dimension 1 of ids is 1, but dimension 2 of x is 3"}},
       }) {
    calls.push_back(bad);
  }
  calls.push_back({"scale",
                   [](GraphBuilder& g) { return scale(g, leaf(g, kI32, {4}), {}); },
                   {"x is I32 [4], not F32"}});
  calls.push_back({"scale",
                   [](GraphBuilder& g) { return scale(g, leaf(g, kF32, {4}), {.scale = NAN}); },
                   {"F32 [4]", "scale is nan"}});
  calls.push_back(
      {"scale",
       [](GraphBuilder& g) { return scale(g, leaf(g, kF32, {4}), {.scale = 1, .bias = INFINITY}); },
       {"bias is inf"}});
  return calls;
}

std::vector<BadCall> unary_calls() {
  std::vector<BadCall> calls = {
      {"leaky_relu",
       [](GraphBuilder& g) { return leaky_relu(g, leaf(g, kI32, {4})); },
       {"x is I32 [4], not F32, F16 or BF16"}},
      {"leaky_relu",
       [](GraphBuilder& g) { return leaky_relu(g, leaf(g, kF32, {4}), {.slope = NAN}); },
       {"slope is nan"}},
      {"clamp",
       [](GraphBuilder& g) { return clamp(g, leaf(g, kI32, {4}), {}); },
       {"x is I32 [4], not F32"}},
      {"clamp",
       [](GraphBuilder& g) { return clamp(g, leaf(g, kF32, {4}), {.low = 2, .high = 1}); },
       {"low is 2 and high is 1"}},
      {"clamp",
       [](GraphBuilder& g) { return clamp(g, leaf(g, kF32, {4}), {.low = NAN, .high = 1}); },
       {"low is nan"}},
      {"xielu",
       [](GraphBuilder& g) { return xielu(g, leaf(g, kI32, {4}), {}); },
       {"x is I32 [4], not F32, F16 or BF16"}},
      {"xielu",
       [](GraphBuilder& g) { return xielu(g, leaf(g, kF32, {4}), {.alpha_n = NAN}); },
       {"alpha_n is nan"}},
      {"xielu",
       [](GraphBuilder& g) { return xielu(g, leaf(g, kF32, {4}), {.alpha_p = -INFINITY}); },
       {"alpha_p is -inf"}},
      {"xielu",
       [](GraphBuilder& g) { return xielu(g, leaf(g, kF32, {4}), {.beta = INFINITY}); },
       {"beta is inf"}},
      {"xielu",
       [](GraphBuilder& g) { return xielu(g, leaf(g, kF32, {4}), {.eps = NAN}); },
       {"eps is nan"}},
  };
  using Builder = Result<Value> (*)(GraphBuilder&, Operand);
  constexpr std::pair<const char*, Builder> kFunctions[] = {
      {"abs", abs},
      {"ceil", ceil},
      {"cos", cos},
      {"elu", elu},
      {"exp", exp},
      {"expm1", expm1},
      {"floor", floor},
      {"gelu", gelu},
      {"gelu_erf", gelu_erf},
      {"gelu_quick", gelu_quick},
      {"hardsigmoid", hardsigmoid},
      {"hardswish", hardswish},
      {"log", log},
      {"neg", neg},
      {"relu", relu},
      {"round", round},
      {"sgn", sgn},
      {"sigmoid", sigmoid},
      {"silu", silu},
      {"sin", sin},
      {"softplus", softplus},
      {"sqr", sqr},
      {"sqrt", sqrt},
      {"step", step},
      {"tanh", tanh},
      {"trunc", trunc},
  };
  for (const auto& [name, function] : kFunctions) {
    calls.push_back({name,
                     [f = function](GraphBuilder& g) { return f(g, leaf(g, kI32, {4})); },
                     {"x is I32 [4], not F32, F16 or BF16"}});
    calls.push_back({name,
                     [f = function](GraphBuilder& g) { return f(g, leaf(g, kQ8_0, {32})); },
                     {"x is Q8_0 [32], not F32"}});
  }
  return calls;
}

/// Calls that all gated units refuse alike.
std::vector<BadCall> gated_calls() {
  std::vector<BadCall> calls;
  constexpr const Op& (*kOps[])() = {reglu_op,       geglu_op,  geglu_erf_op,
                                     geglu_quick_op, swiglu_op, swiglu_oai_op};
  for (const auto op : kOps) {
    const auto call = [op](DType gate, const Shape& gate_shape, std::optional<DType> up,
                           const Shape& up_shape, GateHalf half) {
      return [=](GraphBuilder& g) {
        const Result<Value> a = leaf(g, gate, gate_shape);
        const Result<Value> b = up ? leaf(g, *up, up_shape) : absent();
        const Params params = &op() == &swiglu_oai_op() ? Params::of(SwigluOaiParams{.gate = half})
                                                        : Params::of(GatedParams{half});
        return g.apply(op(), params, {&a, &b});
      };
    };
    const std::string name(op().info().name);
    constexpr GateHalf kFirst = GateHalf::kFirst;
    calls.push_back({name,
                     call(kI32, {4}, kF32, {4}, kFirst),
                     {"I32 [4], F32 [4]", "gate is I32 [4], not F32, F16 or BF16"}});
    calls.push_back(
        {name, call(kF32, {4}, kI32, {4}, kFirst), {"up is I32 [4], not F32, F16 or BF16"}});
    calls.push_back({name,
                     call(kF32, {4}, kF32, {4, 2}, kFirst),
                     {"F32 [4], F32 [4, 2]", "gate and up differ in shape"}});
    calls.push_back({name,
                     call(kF32, {7, 2}, std::nullopt, {}, kFirst),
                     {"the rows of gate, F32 [7, 2], have no two halves"}});
    calls.push_back({name,
                     call(kF32, {4}, kF32, {4}, GateHalf::kSecond),
                     {"the second half of rows that hold both, but up is given"}});
  }
  calls.push_back({"swiglu",
                   [](GraphBuilder& g) {
                     return swiglu_fused(g, leaf(g, kF32, {*g.dynamic_dim("width", 8), 2}));
                   },
                   {"the rows of gate, F32 [8*, 2], have no two halves"}});
  const auto oai = [](const SwigluOaiParams& params) {
    return [=](GraphBuilder& g) { return swiglu_oai_fused(g, leaf(g, kF32, {4}), params); };
  };
  calls.push_back({"swiglu_oai", oai({.alpha = INFINITY}), {"alpha is inf"}});
  calls.push_back({"swiglu_oai", oai({.limit = -1}), {"limit is -1"}});
  calls.push_back({"swiglu_oai", oai({.limit = NAN}), {"limit is nan"}});
  return calls;
}

std::vector<BadCall> norm_calls() {
  return {
      {"rms_norm", [](GraphBuilder& g) { return rms_norm(g, leaf(g, kI32, {4})); }, {"I32 [4]"}},
      {"rms_norm",
       [](GraphBuilder& g) { return rms_norm(g, leaf(g, kF32, {4}), {.eps = -1}); },
       {"eps is -1"}},
      {"rms_norm",
       [](GraphBuilder& g) { return rms_norm(g, leaf(g, kF32, {4}), {.eps = NAN}); },
       {"eps is nan"}},
      {"norm", [](GraphBuilder& g) { return norm(g, leaf(g, kI32, {4})); }, {"x is I32 [4]"}},
      {"l2_norm",
       [](GraphBuilder& g) { return l2_norm(g, leaf(g, kQ8_0, {32})); },
       {"x is Q8_0 [32], not F32, F16 or BF16"}},
      {"l2_norm",
       [](GraphBuilder& g) { return l2_norm(g, leaf(g, kF32, {4}), {-1}); },
       {"eps is -1"}},
      {"group_norm",
       [](GraphBuilder& g) {
         return group_norm(g, leaf(g, kI32, {4, 4, 6}), {});
       },
       {"x is I32 [4, 4, 6]"}},
      {"norm", [](GraphBuilder& g) { return norm(g, leaf(g, kF32, {4}), {-1}); }, {"eps is -1"}},
      {"group_norm",
       [](GraphBuilder& g) {
         return group_norm(g, leaf(g, kF32, {4, 4, 6}), {.groups = 4});
       },
       {"groups is 4, which does not divide the channels of x, 6"}},
      {"group_norm",
       [](GraphBuilder& g) {
         return group_norm(g, leaf(g, kF32, {4, 4, 6}), {.groups = 0});
       },
       {"groups is 0"}},
      {"group_norm",
       [](GraphBuilder& g) {
         return group_norm(g, leaf(g, kF32, {4, 4, 6}), {.eps = INFINITY});
       },
       {"eps is inf"}},
      {"group_norm",
       [](GraphBuilder& g) {
         return group_norm(g, leaf(g, kF32, {4, *g.dynamic_dim("height", 4), 6}), {});
       },
       {"dimension 1 of x is 4*, a dynamic dimension"}},
  };
}

}  // namespace shunt
