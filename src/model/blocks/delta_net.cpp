// A gated delta net after a short convolution, as in Qwen3-Next: a recurrence instead of attention.
#include <cmath>

#include "model/blocks/layers.h"

namespace shunt {

namespace {

/// x / sqrt(sum of x^2 + eps) of each row of `size` elements. Devices compute a norm with a row of
/// weights in one pass.
Result<Value> unit_length(GraphBuilder& g, Operand x, std::int64_t size) {
  constexpr float kEps = 1e-6F;
  const auto n = static_cast<float>(size);
  return mul(g, rms_norm(g, x, {.eps = kEps / n}), fill(g, {size}, 1 / std::sqrt(n)));
}

/// What the convolution reads, and the gate of the results.
struct Inputs {
  Result<Value> convolved = absent();
  Result<Value> gate = absent();
};

/// Of one matrix: for each head of keys a query, a key, its values, and the gates of these.
Inputs fused_inputs(BlockContext& c, const DeltaNet& net, Operand x, std::int64_t number) {
  GraphBuilder& g = c.g;
  const Dim tokens = c.memory.tokens();
  const std::int64_t key = net.key_size;
  const std::int64_t values = net.value_width() / net.key_heads;
  const Result<Value> all = reshape(g, c.weights.linear(x, WeightSlot::kDeltaFusedInput, number),
                                    {2 * key + 2 * values, net.key_heads, tokens});
  const auto rows = [&](std::int64_t start, std::int64_t size) {
    const Result<Value> of_heads =
        cont(g, view(g, all, {start, 0, 0, 0}, {size, net.key_heads, tokens}));
    return reshape(g, of_heads, {size * net.key_heads, tokens});
  };
  const Result<Value> queries_and_keys = concat(g, rows(0, key), rows(key, key), 0);
  return {concat(g, queries_and_keys, rows(2 * key, values), 0), rows(2 * key + values, values)};
}

}  // namespace

Result<Value> delta_net_block(BlockContext& c, const DeltaNet& net, Operand x,
                              std::int64_t number) {
  GraphBuilder& g = c.g;
  GraphWeights& w = c.weights;
  const Dim tokens = c.memory.tokens();
  const std::int64_t conv_numbers = net.conv_width() * (net.taps - 1);
  const bool is_fused = w.has(WeightSlot::kDeltaFusedInput, number);
  const Inputs fused = is_fused ? fused_inputs(c, net, x, number) : Inputs();
  SHUNT_ASSIGN(const StateUse conv, c.memory.state("convolution", number, conv_numbers));
  SHUNT_ASSIGN(
      const Recurrence convolved,
      ssm_conv(g, is_fused ? fused.convolved : w.linear(x, WeightSlot::kDeltaInput, number),
               w.weight(WeightSlot::kDeltaConvolution, number),
               reshape(g, conv.states, {net.conv_width(), net.taps - 1, c.memory.slots()}),
               conv.sources, conv.ends));
  SHUNT_TRY(c.memory.keep(conv.states, convolved.states, conv_numbers));
  const Result<Value> y = silu(g, convolved.outputs);
  const auto heads = [&](std::int64_t start, std::int64_t size, std::int64_t count) {
    const Result<Value> rows = view(g, y, {start, 0, 0, 0}, {size * count, tokens});
    return reshape(g, rows, {size, count, tokens});
  };
  const Result<Value> units =
      unit_length(g, heads(0, net.key_size, 2 * net.key_heads), net.key_size);
  const auto unit_heads = [&](std::int64_t first) {
    Result<Value> some = view(g, units, {0, first, 0, 0}, {net.key_size, net.key_heads, tokens});
    if (!net.tiled || net.key_heads == net.value_heads) return some;
    return repeat(g, some, {net.key_size, net.value_heads, tokens});
  };
  const Result<Value> queries = unit_heads(0);
  const Result<Value> keys = unit_heads(net.key_heads);
  const Result<Value> values = heads(2 * net.key_width(), net.value_size, net.value_heads);

  // What is kept of the state, and the share of a value that is replaced.
  Result<Value> step = absent();
  Result<Value> share = absent();
  if (w.has(WeightSlot::kDeltaStepAndShare, number)) {
    // For each head of keys: the shares of its heads of values, then their steps.
    const std::int64_t group = net.value_heads / net.key_heads;
    const Result<Value> both = reshape(g, w.linear(x, WeightSlot::kDeltaStepAndShare, number),
                                       {2 * group, net.key_heads, tokens});
    const auto half = [&](std::int64_t start) {
      const Result<Value> part =
          cont(g, view(g, both, {start, 0, 0, 0}, {group, net.key_heads, tokens}));
      return reshape(g, part, {net.value_heads, tokens});
    };
    share = half(0);
    step = half(group);
  } else {
    step = w.linear(x, WeightSlot::kDeltaStep, number);
    share = w.linear(x, WeightSlot::kDeltaShare, number);
  }
  const Result<Value> decay =
      mul(g, softplus(g, add(g, step, w.weight(WeightSlot::kDeltaStepBias, number))),
          w.weight(WeightSlot::kDeltaDecay, number));
  const auto of_heads = [&](Operand one) { return reshape(g, one, {1, net.value_heads, tokens}); };

  const std::int64_t numbers = net.key_size * net.value_size * net.value_heads;
  SHUNT_ASSIGN(const StateUse memory, c.memory.state("delta net", number, numbers));
  const float scores = 1 / std::sqrt(static_cast<float>(net.key_size));
  SHUNT_ASSIGN(
      const Recurrence result,
      gated_delta_net(g, queries, keys, values, of_heads(decay), of_heads(sigmoid(g, share)),
                      reshape(g, memory.states,
                              {net.key_size, net.value_size, net.value_heads, c.memory.slots()}),
                      memory.sources, {.scale = scores}, memory.ends));
  SHUNT_TRY(c.memory.keep(memory.states, result.states, numbers));
  const Result<Value> normed =
      w.rms(reshape(g, result.outputs, {net.value_size, net.value_heads, tokens}),
            WeightSlot::kDeltaNorm, number);
  const Result<Value> gate = is_fused ? fused.gate : w.linear(x, WeightSlot::kDeltaGate, number);
  const Result<Value> gated = swiglu(g, gate, reshape(g, normed, {net.value_width(), tokens}));
  return w.linear(gated, WeightSlot::kDeltaOutput, number);
}

}  // namespace shunt
