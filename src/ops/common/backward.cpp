#include "ops/common/backward.h"

#include <cmath>

#include "ops/common/checks.h"
#include "ops/data/data.h"
#include "ops/elementwise/elementwise.h"
#include "ops/training/training.h"
#include "ops/unary/unary.h"
#include "ops/view/view.h"

namespace shunt {

Result<Value> as_f32(GraphBuilder& g, Operand x) {
  SHUNT_ASSIGN(const Tensor tensor, g.find(x));
  if (tensor.dtype == DType::kF32) return x;
  return cpy(g, x, zeros(g, tensor.shape));
}

Result<Value> packed(GraphBuilder& g, Operand x) {
  SHUNT_ASSIGN(const Tensor tensor, g.find(x));
  return is_contiguous(tensor) ? x : cont(g, x);
}

Result<Value> zeros(GraphBuilder& g, const Shape& shape) {
  return fill(g, shape, 0);
}

Result<Value> sum_repeats(GraphBuilder& g, Operand dy, const Shape& shape) {
  SHUNT_ASSIGN(const Tensor tensor, g.find(dy));
  return tensor.shape == shape ? dy : repeat_back(g, dy, shape);
}

Result<Value> sum_slices(GraphBuilder& g, Operand dy, const Shape& shape) {
  SHUNT_ASSIGN(const Tensor tensor, g.find(dy));
  Result<Value> sum = dy;
  Shape now = tensor.shape;
  for (std::size_t d : {2U, 3U}) {
    if (now[d] == shape[d]) continue;
    const Shape before = now;
    now[d] = shape[d];
    if (shape[d] == Dim(1)) {
      sum = repeat_back(g, sum, now);
      continue;
    }
    // Those of a group follow each other: [elements inside, the group, groups, elements outside].
    std::int64_t inside = 1;
    for (std::size_t i = 0; i < kMaxDims; ++i) {
      SHUNT_TRY(expect_fixed_for(before[i], fmt::format("dimension {} of a product", i)));
      if (i < d) inside *= before[i].max;
    }
    const std::int64_t groups = shape[d].max;
    const Dim outside = d == 2 ? before[3] : Dim(1);
    const Result<Value> grouped =
        reshape(g, packed(g, sum), {inside, before[d].max / groups, groups, outside});
    sum = reshape(g, repeat_back(g, grouped, {inside, 1, groups, outside}), now);
  }
  return sum;
}

Result<Value> is_above(GraphBuilder& g, Operand x, float low) {
  SHUNT_ASSIGN(const Tensor tensor, g.find(x));
  if (std::isinf(low)) return fill(g, tensor.shape, low < 0 ? 1 : 0);
  return step(g, scale(g, x, {.bias = -low}));
}

Result<Value> is_below(GraphBuilder& g, Operand x, float high) {
  SHUNT_ASSIGN(const Tensor tensor, g.find(x));
  if (std::isinf(high)) return fill(g, tensor.shape, high > 0 ? 1 : 0);
  return step(g, scale(g, x, {.scale = -1, .bias = high}));
}

Dim times(Dim dim, std::int64_t n) {
  dim.max *= n;
  dim.factor *= n;
  return dim;
}

Status expect_fixed_for(const Dim& dim, std::string_view why) {
  if (dim.is_fixed()) return ok();
  return fail(ErrorCode::kUnsupported,
              "{} is {}, a dynamic dimension, but its gradient rule needs a number", why,
              to_string(dim));
}

}  // namespace shunt
