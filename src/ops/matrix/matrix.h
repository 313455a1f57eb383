/// \file
/// Products of matrices, those of a mixture of experts, and triangular systems of equations.
#pragma once

#include <string_view>

#include "shunt/graph.h"
#include "shunt/ops/data.h"

namespace shunt {

const Op& matmul_op();
/// y[m, n] = sum over k of w[k, m] * x[k, n]: each column of x meets each row of w.
/// Along dimensions 2 and 3 the one with fewer slices is repeated: of Y2 slices, slice i2 is that
/// of slice i2 / (Y2 / W2) of w and of slice i2 / (Y2 / X2) of x. Zeros if K is 0.
/// Where w is quantised, a device may round x to blocks of 8-bit integers. The normalised mean
/// square error is then at most 4e-5 over many elements of y, and `4e-5 * (1 + 64 / n)` over n.
/// Where w is BF16, a device may round x to BF16. The normalised mean square error is then at most
/// `6e-6 * (1 + 64 / n)`. The device may then also take numbers below 2^-126 for 0, whether in w,
/// in x or in a sum.
/// `w`: [K, M, W2, W3] of any type but F64 and integers. Those are for storage and conversion, and
/// an error that names the type refuses them.
/// `x`: F32, F16 or BF16 [K, N, X2, X3].
/// W2 divides X2 or the other way round, and so W3 and X3. A size that divides a dynamic dimension
/// is fixed, or the same dynamic dimension. The result is F32 [M, N, Y2, Y3], with the larger ones.
Result<Value> matmul(GraphBuilder& g, Operand w, Operand x);

const Op& matmul_id_op();
/// The matrices of a mixture of experts. `y[m, u, t]` is the sum over k of
/// `w[k, m, ids[u, t]] * x[k, u, t]`, for each token t and each of its U experts u. Zeros if K is
/// 0. Where w is quantised, a device may round x as in matmul.
/// `w`: [K, M, E] of the types of matmul, one matrix an expert (role kExpertWeight).
/// `x`: F32, F16 or BF16 [K, U, T], or [K, 1, T] for all u.
/// `ids`: I32 or I64 [U, T], each in [0, E); others fail the run.
/// The result is F32 [M, U, T].
Result<Value> matmul_id(GraphBuilder& g, Operand w, Operand x, Operand ids);

/// Parameters of solve_tri().
struct SolveTriParams {
  Triangle triangle = Triangle::kLower;  ///< the other one is not read
  bool unit = false;                     ///< the diagonal is not read, but taken for ones
  template <class F>
  void each(F f) const {
    f("triangle", triangle);
    f("unit", unit);
  }
};

const Op& solve_tri_op();
/// Solves systems of linear equations whose matrix is triangular. For each equation i and each
/// right-hand side r, the sum over j of `a[j, i] * x[r, j]` is `b[r, i]`. It solves them by
/// substitution: `x[r, i] = (b[r, i] - sum over the other j of a[j, i] * x[r, j]) / a[i, i]`. A
/// zero on the diagonal gives infinity or not-a-number. Slice i2 of b meets slice i2 / (B2 / A2) of
/// a, and so along dimension 3.
/// `a`: F32 [N, N, A2, A3], N fixed. `b`: F32 [R, N, B2, B3]. A2 divides B2, A3 divides B3. The
/// result has b's shape. Errors grow with a's condition, as in any substitution.
Result<Value> solve_tri(GraphBuilder& g, Operand a, Operand b, SolveTriParams params = {});

}  // namespace shunt
