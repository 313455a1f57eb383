// The gradients of those functions of each element that gated units are made of, too: from dy, F32,
// that by y = f(x), what is given is that by x, F32. (silu_back() is an op.)
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
