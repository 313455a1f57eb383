// Copies and conversions.
#pragma once

#include "shunt/graph.h"

namespace shunt {

const Op& cpy_op();
/// Writes src, converted to dst's type, into dst. The node's sources are (dst, src).
/// dst: in memory that may be written. src: of dst's shape.
/// Types: the same for both, whichever it is; F16 and BF16 into each other; any type into F32; F32
/// into any type that is encoded without an importance matrix (into integers: to the nearest, even
/// if between two; saturated; not-a-number becomes 0).
/// The result is dst, written.
Result<Value> cpy(GraphBuilder& g, Operand src, Operand dst);

const Op& cont_op();
/// A contiguous copy of x. x: any type and shape; the result has both.
Result<Value> cont(GraphBuilder& g, Operand x);

}  // namespace shunt
