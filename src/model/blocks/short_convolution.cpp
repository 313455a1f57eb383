// The short convolution of LFM2: a causal convolution of gated inputs, whose results are gated.
#include "model/blocks/layers.h"

namespace shunt {

Result<Value> short_convolution_block(BlockContext& c, const ShortConvolution& conv, Operand x,
                                      std::int64_t number) {
  GraphBuilder& g = c.g;
  GraphWeights& w = c.weights;
  const std::int64_t width = c.model.width;
  const Dim tokens = c.memory.tokens();
  // Rows of the gate of inputs, of the gate of results, and of inputs.
  const Result<Value> all = w.linear(x, WeightSlot::kConvolutionInput, number);
  const auto part = [&](std::int64_t which) {
    return view(g, all, {which * width, 0, 0, 0}, {width, tokens});
  };
  const std::int64_t numbers = width * (conv.taps - 1);
  SHUNT_ASSIGN(const StateUse state, c.memory.state("convolution", number, numbers));
  SHUNT_ASSIGN(
      const Recurrence convolved,
      ssm_conv(g, mul(g, cont(g, part(0)), part(2)), w.weight(WeightSlot::kConvolution, number),
               reshape(g, state.states, {width, conv.taps - 1, c.memory.slots()}), state.sources,
               state.ends));
  SHUNT_TRY(c.memory.keep(state.states, convolved.states, numbers));
  const Result<Value> outputs = reshape(g, convolved.outputs, {width, tokens});
  return w.linear(mul(g, cont(g, outputs), part(1)), WeightSlot::kConvolutionOutput, number);
}

}  // namespace shunt
