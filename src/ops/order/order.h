// Where elements stand among others.
#pragma once

#include "shunt/graph.h"

namespace shunt {

const Op& argmax_op();
/// The index of the largest element of each row, of the first if there are several; some index of
/// the row if one of its elements is not a number. x: F32 [C, R, X2, X3], C at least 1. The result
/// is I32 [R, X2, X3].
Result<Value> argmax(GraphBuilder& g, Operand x);

}  // namespace shunt
