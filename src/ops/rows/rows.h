// Rows picked from, or written to, a matrix by their numbers.
#pragma once

#include "shunt/graph.h"

namespace shunt {

const Op& get_rows_op();
/// Row i of the result is row ids[i] of the table, and so for each slice along dimensions 2 and 3.
/// table: [C, R, T2, T3] of any type but F64, I8, I16 and I64.
/// ids: I32 or I64 [N, T2, T3], each from 0 to R - 1; a run with another one fails.
/// The result is [C, N, T2, T3], I32 if the table is, else F32.
Result<Value> get_rows(GraphBuilder& g, Operand table, Operand ids);

const Op& set_rows_op();
/// Writes row i of `rows`, converted to dst's type, to row ids[i] of dst, and leaves dst's other
/// rows alone.
/// dst: [C, R] of type F32, F16, BF16, Q8_0 or Q4_0, in memory that may be written.
/// rows: F32 [C, N].
/// ids: I32 or I64 [N], each from 0 to R - 1, no two the same; a run with another one fails, and
/// writes nothing outside of dst.
/// The result is dst, written.
Result<Value> set_rows(GraphBuilder& g, Operand dst, Operand rows, Operand ids);

}  // namespace shunt
