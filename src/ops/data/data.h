// Copies and conversions.
#pragma once

#include "shunt/graph.h"

namespace shunt {

const Op& cpy_op();
/// Writes src, converted to dst's type, into dst. The node's sources are (dst, src).
/// dst: in memory that may be written. src: of dst's shape.
/// Types: the same for both, whichever it is; F32, F16 and BF16 into each other; F32 into I32 (to
/// the nearest, even if between two; saturated; not-a-number becomes 0) and I32 into F32; F32 into
/// Q8_0 and Q4_0, and these into F32.
/// The result is dst, written.
Result<Value> cpy(GraphBuilder& g, Operand src, Operand dst);

const Op& cont_op();
/// A contiguous copy of x. x: any type and shape; the result has both.
Result<Value> cont(GraphBuilder& g, Operand x);

}  // namespace shunt
