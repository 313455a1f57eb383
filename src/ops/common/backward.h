// The building blocks of gradient rules.
#pragma once

#include "graph/gradient.h"

namespace shunt {

/// x as F32: itself if it is, else converted.
Result<Value> as_f32(GraphBuilder& g, Operand x);
/// x, contiguous: itself if it is, else a copy.
Result<Value> packed(GraphBuilder& g, Operand x);
/// F32 zeros.
Result<Value> zeros(GraphBuilder& g, const Shape& shape);
/// The share of dy of each element of a tensor of this shape, if it was repeated to dy's shape as
/// repeat() does.
Result<Value> sum_repeats(GraphBuilder& g, Operand dy, const Shape& shape);
/// The same where slices were repeated as matmul() does: slice i2 of dy is one of slice i2 / (Y2 /
/// X2) of the tensor of the shape [.., .., X2, X3], and so along dimension 3.
Result<Value> sum_slices(GraphBuilder& g, Operand dy, const Shape& shape);
/// 1 where x, F32, is above `low`, else 0; and where it is below `high`. Ones for an infinite bound
/// that no number reaches.
Result<Value> is_above(GraphBuilder& g, Operand x, float low);
Result<Value> is_below(GraphBuilder& g, Operand x, float high);
/// n times as many.
Dim times(Dim dim, std::int64_t n);
/// Unsupported if a dimension is a dynamic dimension: `why` names the size that must be fixed.
Status expect_fixed_for(const Dim& dim, std::string_view why);

}  // namespace shunt
