// Activation functions, and the gates made of them.
#pragma once

#include "shunt/graph.h"

namespace shunt {

const Op& silu_op();
/// y = x / (1 + exp(-x)). x: F32, any shape; the result has x's shape.
Result<Value> silu(GraphBuilder& g, Operand x);

const Op& swiglu_op();
/// y = silu(gate) * up. gate, up: F32, of one shape, which the result has too.
Result<Value> swiglu(GraphBuilder& g, Operand gate, Operand up);

}  // namespace shunt
