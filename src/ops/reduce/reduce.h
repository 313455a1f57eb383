/// \file
/// Many elements to one, or to as many sums. `x`: F32, F16 or BF16; the result has its type, in
/// which a sum may be infinite that F32 has a number for. Computed in F32, and rounded once.
#pragma once

#include "shunt/graph.h"

namespace shunt {

const Op& sum_op();
/// The sum of all elements, 0 if there are none. `x`: any shape; the result is [1].
Result<Value> sum(GraphBuilder& g, Operand x);

const Op& cumsum_op();
/// Sums of each row up to and with each element: y[i] = x[0] + ... + x[i]. `x`: any shape; the
/// result has it.
Result<Value> cumsum(GraphBuilder& g, Operand x);

const Op& sum_rows_op();
/// The sum of each row, 0 if it has no element. `x`: [C, R, X2, X3]; the result is [1, R, X2, X3].
Result<Value> sum_rows(GraphBuilder& g, Operand x);

const Op& mean_op();
/// The mean of each row. `x`: [C, R, X2, X3], C at least 1; the result is [1, R, X2, X3]. Not a
/// number if C is a dynamic dimension that is 0 in a run.
Result<Value> mean(GraphBuilder& g, Operand x);

}  // namespace shunt
