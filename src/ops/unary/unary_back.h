// The gradients of those functions of each element that gated units are made of, too. They take dy,
// F32, the gradient by y = f(x), and give the gradient by x, F32. (silu_back() is an op.)
#pragma once

#include "shunt/graph.h"

namespace shunt {

Result<Value> relu_back(GraphBuilder& g, Operand dy, Operand x);
Result<Value> gelu_back(GraphBuilder& g, Operand dy, Operand x);
Result<Value> gelu_erf_back(GraphBuilder& g, Operand dy, Operand x);
Result<Value> gelu_quick_back(GraphBuilder& g, Operand dy, Operand x);

/// 1 where hardsigmoid(x) has a slope, else 0.
Result<Value> is_sloped(GraphBuilder& g, Operand x);

}  // namespace shunt
