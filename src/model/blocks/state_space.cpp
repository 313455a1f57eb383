// Mamba 2 (arXiv 2405.21060): a selective state space after a short convolution.
#include "model/blocks/layers.h"

namespace shunt {

Result<Value> state_space_block(BlockContext& c, const StateSpace& space, Operand x,
                                std::int64_t number) {
  GraphBuilder& g = c.g;
  GraphWeights& w = c.weights;
  const Dim tokens = c.memory.tokens();
  const std::int64_t inner = space.inner();
  const Result<Value> all = w.linear(x, WeightSlot::kSpaceInput, number);
  const auto rows = [&](Operand of, std::int64_t start, std::int64_t width) {
    return view(g, of, {start, 0, 0, 0}, {width, tokens});
  };
  const Result<Value> gate = rows(all, 0, inner);
  const Result<Value> step = add(g, rows(all, inner + space.conv_width(), space.heads),
                                 w.weight(WeightSlot::kSpaceStepBias, number));

  const std::int64_t conv_numbers = space.conv_width() * (space.taps - 1);
  SHUNT_ASSIGN(const StateUse conv, c.memory.state("convolution", number, conv_numbers));
  SHUNT_ASSIGN(
      const Recurrence convolved,
      ssm_conv(g, rows(all, inner, space.conv_width()),
               w.weight(WeightSlot::kSpaceConvolution, number),
               reshape(g, conv.states, {space.conv_width(), space.taps - 1, c.memory.slots()}),
               conv.sources, conv.ends));
  SHUNT_TRY(c.memory.keep(conv.states, convolved.states, conv_numbers));
  const bool biased = w.has(WeightSlot::kSpaceConvolutionBias, number);
  const Result<Value> y = silu(
      g, biased ? add(g, convolved.outputs, w.weight(WeightSlot::kSpaceConvolutionBias, number))
                : Result<Value>(convolved.outputs));
  const auto groups = [&](std::int64_t start) {
    return reshape(g, rows(y, start, space.groups * space.state_size),
                   {space.state_size, space.groups, tokens});
  };
  const Result<Value> inputs =
      reshape(g, rows(y, 0, inner), {space.head_size, space.heads, tokens});
  const std::int64_t numbers = space.state_size * inner;
  SHUNT_ASSIGN(const StateUse memory, c.memory.state("state space", number, numbers));
  SHUNT_ASSIGN(const Recurrence result,
               ssm_scan(g, inputs, step, w.weight(WeightSlot::kSpaceDecay, number), groups(inner),
                        groups(inner + space.groups * space.state_size),
                        reshape(g, memory.states,
                                {space.state_size, space.head_size, space.heads, c.memory.slots()}),
                        memory.sources, memory.ends));
  SHUNT_TRY(c.memory.keep(memory.states, result.states, numbers));
  const Result<Value> outputs =
      add(g, reshape(g, result.outputs, {space.head_size, space.heads, tokens}),
          mul(g, inputs, w.weight(WeightSlot::kSpaceSkip, number)));
  const Result<Value> gated = swiglu(g, gate, reshape(g, outputs, {inner, tokens}));
  if (!w.has(WeightSlot::kSpaceNorm, number))
    return w.linear(gated, WeightSlot::kSpaceOutput, number);
  const Result<Value> by_group = reshape(g, gated, {inner / space.groups, space.groups, tokens});
  const Result<Value> normed = w.rms(by_group, WeightSlot::kSpaceNorm, number);
  return w.linear(reshape(g, normed, {inner, tokens}), WeightSlot::kSpaceOutput, number);
}

}  // namespace shunt
