// Products of matrices.
#pragma once

#include "shunt/graph.h"

namespace shunt {

const Op& matmul_op();
/// y[m, n] = sum over k of w[k, m] * x[k, n]: each column of x meets each row of w.
/// w: [K, M, W2, W3] of type F32, F16, BF16, Q8_0 or Q4_0. x: F32 [K, N, X2, X3], where W2 divides
/// X2 and W3 divides X3: slice i2 of x meets slice i2 / (X2 / W2) of w, and so for i3. A W2 or W3
/// that is an extent must be the same as that of x. The result is F32 [M, N, X2, X3]; zeros if K is
/// 0. Where w is quantised, a device may round x to blocks of 8-bit integers.
Result<Value> matmul(GraphBuilder& g, Operand w, Operand x);

}  // namespace shunt
