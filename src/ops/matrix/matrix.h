// Products of matrices.
#pragma once

#include "shunt/graph.h"

namespace shunt {

const Op& matmul_op();
/// y[m, n] = sum over k of w[k, m] * x[k, n]: each column of x meets each row of w.
/// Slice i2 of x meets slice i2 / (X2 / W2) of w, and so along dimension 3; zeros if K is 0.
/// Where w is quantised, a device may round x to blocks of 8-bit integers.
/// w: [K, M, W2, W3] of any type but F64 and integers.
/// x: F32 [K, N, X2, X3]; W2 divides X2, W3 divides X3, and is the same where it is an extent.
/// The result is F32 [M, N, X2, X3].
Result<Value> matmul(GraphBuilder& g, Operand w, Operand x);

const Op& matmul_id_op();
/// The matrices of a mixture of experts: y[m, u, t] = sum over k of w[k, m, ids[u, t]] * x[k, u,
/// t], for each token t and each of its U experts u; zeros if K is 0. Where w is quantised, a
/// device may round x to blocks of 8-bit integers. w: [K, M, E] of the types of matmul, one matrix
/// an expert (role kExpertWeight). x: F32 [K, U, T], or [K, 1, T] for all u. ids: I32 [U, T], each
/// in [0, E); others fail the run. The result is F32 [M, U, T].
Result<Value> matmul_id(GraphBuilder& g, Operand w, Operand x, Operand ids);

}  // namespace shunt
