// Gates made of activation functions (which are in unary.h).
#pragma once

#include "shunt/graph.h"

namespace shunt {

const Op& swiglu_op();
/// y = silu(gate) * up. gate, up: F32, of one shape, which the result has too.
Result<Value> swiglu(GraphBuilder& g, Operand gate, Operand up);

}  // namespace shunt
