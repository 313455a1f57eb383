/// \file
/// Rows picked from, or written to, a matrix by their numbers.
#pragma once

#include "shunt/graph.h"

namespace shunt {

const Op& get_rows_op();
/// Row i of the result is row ids[i] of the table. The same applies to each slice along dimensions
/// 2 and 3.
/// `table`: [C, R, T2, T3] of any type.
/// `ids`: I32 or I64 [N, T2, T3], each from 0 to R - 1. A run with another one fails.
/// The result is [C, N, T2, T3], of the table's type if that is an integer or F64, else F32.
Result<Value> get_rows(GraphBuilder& g, Operand table, Operand ids);

const Op& set_rows_op();
/// Writes row i of `rows`, converted to dst's type, to row ids[i] of dst. The same applies to each
/// slice along dimensions 2 and 3. It leaves dst's other rows alone.
/// `dst`: [C, R, D2, D3], in memory that may be written, of any type that `rows` can be converted
/// to: cpy() in data.h says which, and how.
/// `rows`: [C, N, D2, D3], of any type, in other memory than dst.
/// `ids`: I32 or I64 [N, I2, I3], each from 0 to R - 1, no two of a slice the same. I2 divides D2
/// and I3 divides D3: they are repeated. A run with another number fails, and writes nothing
/// outside of dst.
/// The result is dst, written.
Result<Value> set_rows(GraphBuilder& g, Operand dst, Operand rows, Operand ids);

}  // namespace shunt
