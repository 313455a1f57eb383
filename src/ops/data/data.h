// Data moved, copied, converted and made.
//
// "Any plain type" is any but the block types, whose elements can't be moved one by one.
#pragma once

#include <string_view>

#include "shunt/graph.h"

namespace shunt {

const Op& cpy_op();
/// Writes src, converted to dst's type, into dst. The node's sources are (dst, src).
/// dst: in memory that may be written. src: of dst's shape.
/// Types: the same for both, whichever it is; else any type into any that can be encoded without an
/// importance matrix (all but Q8_1, Q8_K, IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS and IQ2_S). Integers and
/// F64 become each other at once; everything else goes by way of F32, rounded to nearest there and
/// back, even if between two, where the format does not say otherwise. An integer is rounded in the
/// same way and saturates, also where it is made of infinity; not-a-number becomes 0 in it and in
/// block types. The result is dst, written.
Result<Value> cpy(GraphBuilder& g, Operand src, Operand dst);

const Op& cont_op();
/// A contiguous copy of x. x: any type and shape; the result has both.
Result<Value> cont(GraphBuilder& g, Operand x);

const Op& dup_op();
/// A copy of x in memory of its own, which is contiguous: what is written into x later does not
/// change it. x: any type and shape; the result has both.
Result<Value> dup(GraphBuilder& g, Operand x);

}  // namespace shunt
