// Feed-forward parts: two matrices with an activation in between, or three with a gate.
#include "model/blocks/layers.h"

namespace shunt {

Result<Value> gated(GraphBuilder& g, Activation activation, Operand gate, Operand up) {
  switch (activation) {
    case Activation::kSilu:
      return swiglu(g, gate, up);
    case Activation::kGelu:
      return geglu(g, gate, up);
    case Activation::kGeluErf:
      return geglu_erf(g, gate, up);
    case Activation::kSwigluOai:
      return swiglu_oai(g, gate, up);
  }
  return swiglu(g, gate, up);
}

Result<Value> gated_fused(GraphBuilder& g, Activation activation, Operand both) {
  switch (activation) {
    case Activation::kSilu:
      return swiglu_fused(g, both);
    case Activation::kGelu:
      return geglu_fused(g, both);
    case Activation::kGeluErf:
      return geglu_erf_fused(g, both);
    case Activation::kSwigluOai:
      return swiglu_oai_fused(g, both);
  }
  return swiglu_fused(g, both);
}

Result<Value> ungated(GraphBuilder& g, Activation activation, Operand x) {
  switch (activation) {
    case Activation::kGelu:
      return gelu(g, x);
    case Activation::kGeluErf:
      return gelu_erf(g, x);
    case Activation::kSilu:
    case Activation::kSwigluOai:
      return silu(g, x);
  }
  return silu(g, x);
}

Result<Value> feed_forward_block(BlockContext& c, const FeedForward& part, Operand x,
                                 std::int64_t number) {
  GraphWeights& w = c.weights;
  const auto down = [&](Operand y) {
    return w.linear(y, WeightSlot::kDown, WeightSlot::kDownBias, number);
  };
  if (!part.fused && w.has(WeightSlot::kGate, number)) {
    const Result<Value> gate = w.linear(x, WeightSlot::kGate, WeightSlot::kGateBias, number);
    const Result<Value> up = w.linear(x, WeightSlot::kUp, WeightSlot::kUpBias, number);
    return down(gated(c.g, part.activation, gate, up));
  }
  const Result<Value> up = w.linear(x, WeightSlot::kUp, WeightSlot::kUpBias, number);
  return down(part.fused ? gated_fused(c.g, part.activation, up)
                         : ungated(c.g, part.activation, up));
}

}  // namespace shunt
