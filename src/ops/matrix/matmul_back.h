// The gradients of y = matmul(w, x) by its operands, as products again.
#pragma once

#include "shunt/graph.h"

namespace shunt {

/// By x, of the shape [K, N, X2, X3]: dx[k, n] = sum over m of w[k, m] * dy[m, n]. `w`: of any type
/// that matmul() takes. `dy`: F32, any strides.
Result<Value> matmul_back_by_x(GraphBuilder& g, Operand dy, Operand w, const Shape& x);
/// By w, of the shape [K, M, W2, W3]: dw[k, m] = sum over n of x[k, n] * dy[m, n].
Result<Value> matmul_back_by_w(GraphBuilder& g, Operand dy, Operand x, const Shape& w);

}  // namespace shunt
